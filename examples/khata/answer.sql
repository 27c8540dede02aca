-- The answer to the text of an event; no row where it is not booked.
select answer
from khata.answer(:'event') as answer
where answer is not null
