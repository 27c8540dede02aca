-- Takes from everybody what a new function gives to everybody.
revoke all on all functions in schema hookonce from public;
revoke all on all tables in schema hookonce from public;
revoke all on schema hookonce from public;
