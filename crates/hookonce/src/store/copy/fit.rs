//! Makes rows fit a database whose text holds no NUL, in the way in which the store itself does at
//! insert.

use std::collections::HashSet;

use super::{Cell, Piece, Row, Table};
use crate::event::{BASE64, Kind};
use crate::store::unproven::REFUSED;

/// What it has met.
pub(super) struct Fit {
    /// When the copy began, which is the end of tasks that can't be handled any more.
    began_at: i64,
    /// Events of the range whose payload was refused.
    of_range: HashSet<i64>,
    refused: u64,
}

impl Fit {
    pub(super) fn new(began_at: i64) -> Self {
        Self { began_at, of_range: HashSet::new(), refused: 0 }
    }

    /// How many events were refused.
    pub(super) fn refused(&self) -> u64 {
        self.refused
    }

    /// Changes what does not fit. The same rows are always changed in the same way.
    pub(super) fn fit(&mut self, piece: &mut Piece) {
        let Piece::Rows(table, rows) = piece else { return self.of_range.clear() };
        for row in rows {
            match table {
                Table::Events => self.fit_event(row),
                Table::Tasks => self.fit_task(row),
                Table::Routes => cap(&mut row[table.at("max_attempts")]),
                _ => {}
            }
            row.iter_mut().for_each(fit_text);
        }
    }

    /// As [`NewEvent::refused`](crate::event::NewEvent::refused).
    fn fit_event(&mut self, row: &mut Row) {
        use base64::Engine as _;
        let at = |column| Table::Events.at(column);
        let Cell::Text(payload) = &row[at("payload")] else { return };
        if !payload.contains('\0') {
            return;
        }
        let encoded = base64::engine::general_purpose::STANDARD.encode(payload);
        row[at("payload")] = Cell::Text(encoded);
        row[at("kind")] = Cell::Text(Kind::unreadable().as_str().to_owned());
        row[at("content_type")] = Cell::Text(BASE64.to_owned());
        row[at("element")] = Cell::Text(String::new());
        self.refused += 1;
        if let Cell::Number(seq) = row[at("seq")] {
            self.of_range.insert(seq);
        }
    }

    /// A task that is still to be handled can't be any more.
    fn fit_task(&self, row: &mut Row) {
        let at = |column| Table::Tasks.at(column);
        cap(&mut row[at("max_attempts")]);
        let Cell::Number(seq) = row[at("seq")] else { return };
        let is_open = matches!(&row[at("state")], Cell::Text(state) if state == "pending" || state == "claimed");
        if !is_open || !self.of_range.contains(&seq) {
            return;
        }
        row[at("state")] = Cell::Text("dead".to_owned());
        row[at("error")] = Cell::Text(REFUSED.to_owned());
        row[at("finished_at")] = Cell::Number(self.began_at);
        for column in ["token", "due_at", "lease_until", "claimed_at"] {
            row[at(column)] = Cell::Null;
        }
    }
}

/// The database counts attempts in 31 bits.
fn cap(cell: &mut Cell) {
    if let Cell::Number(n) = cell {
        *n = (*n).min(i64::from(i32::MAX));
    }
}

fn fit_text(cell: &mut Cell) {
    if let Cell::Text(text) = cell
        && text.contains('\0')
    {
        *text = text.replace('\0', "\u{fffd}");
    }
}
