//! Twilio's forms: what must hold for their parameters and for what signs them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookonce::event::{FORM, NewEvent};
use hookonce::scheme::twilio::Twilio;
use hookonce::scheme::{Proof, Scheme as _, Secret, Unproven};

use super::mac::{SHA1, hmac};
use super::parse::{check_parse, check_payloads};
use super::request::{request, signed};

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const URL: &str = "https://hooks.example.org/webhooks/source";

/// Name and value of a parameter, decoded.
type Parameter = (Vec<u8>, Vec<u8>);

/// The bytes are the body of a request.
pub fn twilio_form(bytes: &[u8]) {
    // What begins as JSON does isn't taken for a form, unless its sender says it is.
    let looks_like_json = matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['));
    let body = if looks_like_json { [b"&", bytes].concat() } else { bytes.to_vec() };
    let parameters = parameters(&body);
    check_identity(&body, &parameters);
    check_signature(&body, &parameters);
}

/// A form is one event, whatever the way in which its parameters are written.
fn check_identity(body: &[u8], parameters: &[Parameter]) {
    let twilio = Twilio::new(Proof::Unverified, None);
    let events = check_parse(&twilio, body);
    check_payloads(&twilio, &events);
    let [event] = &events[..] else { panic!("{} events of a form", events.len()) };
    let reads = std::str::from_utf8(body).is_ok_and(|text| !text.contains('\0'));
    assert_eq!(event.unreadable.is_none(), reads && parameters.len() <= 20_000);
    if event.unreadable.is_some() {
        return;
    }
    assert_eq!((event.payload.as_bytes(), event.content_type), (body, FORM));
    assert!(event.element.is_empty() && event.sent_at.is_none());

    let parts = |event: &NewEvent| {
        let key = (!event.weak_key).then(|| (event.key.clone(), event.digest));
        (key, event.kind.clone(), event.lane.clone(), event.priority)
    };
    let again = |parameters: &[Parameter]| {
        let again = check_parse(&twilio, &written(parameters));
        assert_eq!(parts(&again[0]), parts(event), "written in another way");
    };
    again(parameters);
    let mut sorted = parameters.to_vec();
    sorted.sort_by(|a, b| b.0.cmp(&a.0));
    again(&sorted);
}

/// What is signed is the address, and each parameter once in the order of the names.
fn check_signature(body: &[u8], parameters: &[Parameter]) {
    let secret = Secret::new(SECRET).expect("it is not empty");
    let twilio = Twilio::new(Proof::Secrets(vec![secret]), Some(URL.to_owned()));
    let verify = |tag: &[u8], body: &[u8]| {
        let tag = STANDARD.encode(tag);
        let headers = [("content-type", FORM.as_bytes()), ("x-twilio-signature", tag.as_bytes())];
        let request = request(&headers, body).expect("it can be sent");
        twilio.verify(request).map(|verified| verified.secret)
    };
    if parameters.len() > 20_000 {
        assert_eq!(verify(&[0; 20], body), Err(Unproven::Malformed));
        return;
    }
    let right = tag(parameters);
    assert_eq!(verify(&right, body), Ok(Some(0)));
    let sent = signed(&twilio, body, &[]);
    assert_eq!(sent.headers["x-twilio-signature"].as_bytes(), STANDARD.encode(&right).as_bytes());

    // Which bit is wrong is taken from the bytes.
    let at = body.iter().fold(0_usize, |sum, byte| (sum + usize::from(*byte)) % 160);
    let mut wrong = right.clone();
    wrong[at / 8] ^= 1 << (at % 8);
    assert_eq!(verify(&wrong, body), Err(Unproven::Wrong));
    // A parameter more is another form, unless it is there already.
    let longer = [body, b"&Zz=1"].concat();
    let same = tag(&self::parameters(&longer)) == right;
    let said = verify(&right, &longer);
    assert!(if same { said == Ok(Some(0)) } else { said.is_err() });
}

fn tag(parameters: &[Parameter]) -> Vec<u8> {
    let mut all = parameters.to_vec();
    all.sort();
    all.dedup();
    let text: Vec<u8> = all.into_iter().flat_map(|(name, value)| [name, value].concat()).collect();
    hmac(SHA1, SECRET.as_bytes(), &[URL.as_bytes(), &text])
}

/// The parameters of a form, in order.
fn parameters(body: &[u8]) -> Vec<Parameter> {
    let pairs = body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
    let pair = |pair: &[u8]| {
        let mut halves = pair.splitn(2, |byte| *byte == b'=').map(decode);
        (halves.next().unwrap_or_default(), halves.next().unwrap_or_default())
    };
    pairs.map(pair).collect()
}

fn decode(text: &[u8]) -> Vec<u8> {
    let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let (mut decoded, mut at) = (Vec::new(), 0);
    while let Some(byte) = text.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.extend(u8::try_from(high * 16 + low));
                at += 2;
            }
            (b'+', ..) => decoded.push(b' '),
            _ => decoded.push(*byte),
        }
        at += 1;
    }
    decoded
}

/// The form of these parameters, every byte escaped.
fn written(parameters: &[Parameter]) -> Vec<u8> {
    let escaped = |text: &[u8]| -> String {
        text.iter().flat_map(|byte| ["%".to_owned(), hex::encode([*byte])]).collect()
    };
    // One without a name would be left out where it has no value, either.
    let written = |(name, value): &Parameter| format!("{}={}", escaped(name), escaped(value));
    parameters.iter().map(written).collect::<Vec<_>>().join("&").into_bytes()
}
