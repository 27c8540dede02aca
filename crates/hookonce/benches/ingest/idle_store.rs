//! A store that stores nothing.

use async_trait::async_trait;
use hookonce::event::NewEvent;
use hookonce::store::{Arrival, StoreError};

use crate::intake::{Intake, store_of_intake};

#[derive(Debug)]
pub(crate) struct IdleStore;

#[async_trait]
impl Intake for IdleStore {
    async fn insert(&self, events: Vec<NewEvent>) -> Result<Vec<Arrival>, StoreError> {
        Ok(vec![Arrival::New; events.len()])
    }
}

store_of_intake!(IdleStore);
