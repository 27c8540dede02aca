-- Says whether there are tables whose version was ever written down.
select to_regclass('hookonce.migrations') is not null
