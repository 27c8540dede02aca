-- Forgets every prepared statement of the connection.
deallocate all
