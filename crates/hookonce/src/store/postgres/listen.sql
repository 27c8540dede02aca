-- Asks to be told when tasks may have become due.
listen hookonce_due
