-- Forgets the routes of the configuration before. Sources stay: a key is looked up by their scopes.
delete from hookonce.routes
