-- Where pgvector is installed by now, its table is made.
select holdfast.ensure_vectors();
