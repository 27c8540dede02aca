//! Many statuses behind a sink with a rate, and messages among them; ORD-06 has the flood itself.

use crate::cases::bot::{Bot, DONE};
use crate::cases::stand::{Stand, message_flood, status_flood};
use crate::engine::on_both;

on_both![behind_a_sink_with_a_rate_messages_overtake_statuses_too,];

/// Each call is done at once, so that none of the statuses is ever being handled when a message comes.
fn behind_a_sink_with_a_rate_messages_overtake_statuses_too() {
    let bot = Bot::start(|_| DONE);
    let sink = format!(
        "[sinks.bot]\ntype = \"http\"\nurl = \"http://{}/\"\nrate = \"40/s\"\n\
         [[routes]]\nname = \"bot\"\nsteps = [\"bot\"]\n",
        bot.address
    );
    let stand = Stand::with(&sink);
    for body in status_flood(1000) {
        assert_eq!(stand.post(body).counts(), (100, 0));
    }
    bot.called(20);
    let before = bot.calls().len();
    assert_eq!(stand.post(message_flood(40)).counts(), (40, 0));
    bot.called(before + 50);
    let keys = bot.keys();
    let messages =
        keys[before..before + 50].iter().filter(|key| key.starts_with("message")).count();
    assert!((30..=45).contains(&messages), "{messages} of 50 calls were for messages");
    assert!(keys[before..before + 50].iter().any(|key| key.starts_with("status")));
}
