-- Takes due deliveries for a minute: nobody else takes them meanwhile, and whoever dies loses none. Those that wait longest come
-- first. p_busy names the receiver of each delivery that the caller has under way: none gets more than two at a time, so that
-- one that hangs holds up nobody else.
create or replace function holdfast.take_deliveries(p_kinds text[], p_busy bigint[], p_limit integer)
returns table (delivery_id bigint, token bigint, receiver_id bigint, kind text, url text, secrets text[], message_id uuid,
               event text, sent_at timestamptz, payload text)
language plpgsql security definer set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
    c_at_once_per_receiver constant integer := 2;
    v_now timestamptz := clock();
    v_taken bigint[];
begin
    v_taken := array(
        select d.id
        from receiver r
        cross join lateral (
            select w.id, w.next_at from delivery w
            where w.receiver_id = r.id and w.state = 'waiting' and w.next_at <= v_now
            order by w.next_at
            limit greatest(0, c_at_once_per_receiver - coalesce(cardinality(array_positions(p_busy, r.id)), 0))
            for update skip locked
        ) d
        where r.kind = any (p_kinds) and r.disabled_at is null and r.removed_at is null
        order by d.next_at
        limit p_limit
    );
    if v_taken <> '{}' then
        return query select * from take(v_taken, v_now);
    end if;
end $$;

-- Takes these, locked by the caller, and answers what is needed to deliver them.
create or replace function holdfast.take(p_deliveries bigint[], p_now timestamptz)
returns table (delivery_id bigint, token bigint, receiver_id bigint, kind text, url text, secrets text[], message_id uuid,
               event text, sent_at timestamptz, payload text)
language sql set search_path = holdfast, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
    update delivery d
    set token = d.token + 1, next_at = p_now + interval '1 minute', taken_until = p_now + interval '1 minute'
    from receiver r, notice n
    where d.id = any (p_deliveries) and r.id = d.receiver_id and n.id = d.notice_id
    returning d.id, d.token, r.id, r.kind, r.url,
              array_remove(array[r.secret, case when r.previous_until > p_now then r.previous_secret end], null),
              n.message_id, n.event, p_now,
              jsonb_build_object('type', n.event, 'timestamp', n.at, 'data', n.body)::text
$$;
