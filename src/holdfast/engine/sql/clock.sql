-- The engine's only clock. Moves with the wall even inside an old transaction; tests replace this one function.
create or replace function holdfast.clock() returns timestamptz
language sql volatile as $$ select clock_timestamp() $$;
