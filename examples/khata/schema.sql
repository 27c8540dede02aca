-- The books: a posting with its entries for each text that is understood, a note for any other.

create schema khata;

create table khata.accounts (
  id bigint generated always as identity primary key,
  book text not null,
  is_party boolean not null,
  name text not null,
  unique (book, is_party, name)
);
comment on table khata.accounts is
  'What money goes to and comes from in the book of one conversation: cash, sales, purchases, and parties.';

create table khata.postings (
  event_id uuid primary key,
  book text not null,
  body text not null,
  answer text not null,
  received_at timestamptz not null
);
comment on table khata.postings is 'A text that was understood.';

create table khata.entries (
  -- Checked at the commit: the answer, which is a part of the posting, tells what the entries led to.
  event_id uuid not null references khata.postings deferrable initially deferred,
  account_id bigint not null references khata.accounts,
  debit numeric(14, 2) not null default 0 check (debit >= 0),
  credit numeric(14, 2) not null default 0 check (credit >= 0),
  primary key (event_id, account_id),
  check ((debit = 0) <> (credit = 0))
);
create index on khata.entries (account_id);
comment on table khata.entries is 'One side of a posting.';

create table khata.notes (
  event_id uuid primary key,
  book text not null,
  body text not null,
  answer text not null,
  received_at timestamptz not null
);
comment on table khata.notes is 'A text that was not understood, kept as it came.';

create view khata.balances as
select a.book, a.is_party, a.name, sum(e.debit) - sum(e.credit) as balance
from khata.accounts a
join khata.entries e on e.account_id = a.id
group by a.id;
comment on view khata.balances is 'Debit less credit of each account; of a party, what it owes.';

create function khata.hold_balance() returns trigger language plpgsql as $$
begin
  if (
    select count(*) < 2 or sum(debit) <> sum(credit)
    from khata.entries
    where event_id = new.event_id
  ) then
    raise check_violation using
      message = format('the entries of posting %s do not balance', new.event_id);
  end if;
  return null;
end
$$;
comment on function khata.hold_balance is
  'Refuses a commit unless a posting debits what it credits.';

create constraint trigger postings_balance after insert on khata.postings
deferrable initially deferred for each row execute function khata.hold_balance();

create constraint trigger entries_balance after insert on khata.entries
deferrable initially deferred for each row execute function khata.hold_balance();

create function khata.refuse_change() returns trigger language plpgsql as $$
begin
  raise check_violation using
    message = format('what is in khata.%I is never changed', tg_table_name),
    hint = 'add a posting that puts it right';
end
$$;
comment on function khata.refuse_change is 'Refuses to change or delete what is booked.';

create trigger postings_stay before update or delete on khata.postings
for each row execute function khata.refuse_change();

create trigger entries_stay before update or delete on khata.entries
for each row execute function khata.refuse_change();

create table khata.rules (
  words text primary key,
  debit text not null,
  credit text not null
);
comment on table khata.rules is
  'The grammar: which words debit and credit which accounts. NAME as an account is that party.';

insert into khata.rules (words, debit, credit) values
  ('sold QUANTITY ITEM AMOUNT', 'cash', 'sales'),
  ('sold QUANTITY ITEM AMOUNT to NAME', 'NAME', 'sales'),
  ('bought QUANTITY ITEM AMOUNT', 'purchases', 'cash'),
  ('bought QUANTITY ITEM AMOUNT from NAME', 'purchases', 'NAME'),
  ('paid NAME AMOUNT', 'NAME', 'cash'),
  ('received AMOUNT from NAME', 'cash', 'NAME');

create function khata.plain(body text) returns text language sql immutable as $$
  select lower(regexp_replace(btrim(body, E' \t\r\n'), '[ \t]+', ' ', 'g'))
$$;
comment on function khata.plain is 'A text in lower case, with single blanks.';

create function khata.pattern(words text) returns text language plpgsql immutable as $$
declare
  -- More than nothing, and within what an entry can hold.
  number constant text := '(?=[0-9.]*[1-9])([0-9]{1,9}(?:[.][0-9]{1,2})?)';
  -- Of up to four words, each with something beside digits (7up), so that no number is a part of it.
  item constant text := '(W(?: W){0,3})';
  word constant text := '[^[:space:]]*[^0-9.[:space:]][^[:space:]]*';
  -- Of up to four words without digits.
  name constant text := '([^0-9[:space:]]+(?: [^0-9[:space:]]+){0,3})';
begin
  words := replace(words, 'QUANTITY', number);
  words := replace(words, 'AMOUNT', number);
  words := replace(words, 'NAME', name);
  words := replace(words, 'ITEM', replace(item, 'W', word));
  return '^' || words || '$';
end
$$;
comment on function khata.pattern is
  'The regular expression of a rule''s words: each word in capitals is a group.';

create function khata.read(body text)
returns table (debit text, credit text, party text, amount numeric)
language sql stable as $$
  select
    r.debit,
    r.credit,
    said.parts[array_position(places.names, 'NAME')],
    said.parts[array_position(places.names, 'AMOUNT')]::numeric
  from khata.rules r
  cross join lateral (
    select array(select found[1] from regexp_matches(r.words, '[A-Z]+', 'g') as found)
  ) as places (names)
  cross join lateral (
    select regexp_match(khata.plain(body), khata.pattern(r.words))
  ) as said (parts)
  where length(body) <= 200
  and said.parts is not null
$$;
comment on function khata.read is 'What a text says by the rules; no row where they don''t know it.';

create function khata.account(of_book text, account text, party text) returns bigint
language sql as $$
  insert into khata.accounts (book, is_party, name)
  values (of_book, account = 'NAME', case account when 'NAME' then party else account end)
  on conflict (book, is_party, name) do update set name = excluded.name
  returning id
$$;
comment on function khata.account is 'The account that a rule means; made where there is none yet.';

create function khata.standing(account bigint) returns text language sql stable as $$
  select case
    when not b.is_party then format('%s: %s.', initcap(b.name), b.balance)
    when b.balance < 0 then format('You owe %s %s.', b.name, -b.balance)
    else format('%s owes you %s.', initcap(b.name), b.balance)
  end
  from khata.accounts a
  join khata.balances b using (book, is_party, name)
  where a.id = account
$$;
comment on function khata.standing is 'What is on an account, in words.';

create function khata.book(of_event uuid, of_book text, element jsonb, at timestamptz) returns void
language plpgsql as $$
declare
  text_body text := coalesce(element #>> '{text,body}', '');
  said record;
  debited bigint;
  credited bigint;
begin
  select * into said from khata.read(text_body);
  if not found then
    insert into khata.notes (event_id, book, body, answer, received_at)
    values (
      of_event, of_book, text_body,
      'I did not understand this and kept it as a note. I know: sold 3 soap 120, '
      'sold 3 soap 120 to asha, bought 10 soap 300, bought 10 soap 300 from ravi, '
      'paid ravi 500, received 250 from asha.',
      at
    );
    return;
  end if;
  debited := khata.account(of_book, said.debit, said.party);
  credited := khata.account(of_book, said.credit, said.party);
  insert into khata.entries (event_id, account_id, debit, credit)
  values (of_event, debited, said.amount, 0), (of_event, credited, 0, said.amount);
  insert into khata.postings (event_id, book, body, answer, received_at)
  values (
    of_event, of_book, text_body,
    concat_ws(
      ' ', format('Booked: %s.', khata.plain(text_body)),
      khata.standing(debited), khata.standing(credited)
    ),
    at
  );
end
$$;
comment on function khata.book is
  'Books a WhatsApp text once: a second call for one event is refused by its primary key.';

create function khata.answer(of_event uuid) returns text language sql stable as $$
  select answer from khata.postings where event_id = of_event
  union all
  select answer from khata.notes where event_id = of_event
$$;
comment on function khata.answer is 'What the writer of a text is answered.';
