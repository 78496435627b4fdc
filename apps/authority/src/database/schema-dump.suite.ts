import { sql } from 'kysely'
import { listTables } from './copy/unfinished-copy.ts'
import type { Database } from './database.ts'

type Lines = readonly string[]

/**
 * What the schema of a database is, one line for each column, index, constraint, trigger, function and sequence. Of SQLite
 * not by the text of its tables: a column that was added later is written in another way there.
 */
export async function dumpSchema(database: Database): Promise<Lines> {
  const parts = database.engine === 'sqlite' ? SQLITE : POSTGRES
  const lines: string[] = []
  for (const [name, query] of Object.entries(parts)) {
    const { rows } = await sql.raw<Readonly<Record<string, unknown>>>(query).execute(database.read)
    lines.push(...rows.map((row) => `${name} ${Object.values(row).map(plain).join(' | ')}`).sort())
  }
  return lines
}

/** The rows of each table that has any, except those that count migrations. */
export async function dumpRows(database: Database): Promise<ReadonlyMap<string, Lines>> {
  const dump = new Map<string, Lines>()
  for (const table of await listTables(database)) {
    if (table === 'schema_version') continue
    const { rows } = await sql`select * from ${sql.table(table)}`.execute(database.read)
    if (rows.length > 0) dump.set(table, rows.map((row) => JSON.stringify(row)).sort())
  }
  return dump
}

/** Spaces and quotation marks around names are a matter of taste. */
function plain(value: unknown): string {
  return String(value)
    .replaceAll(/["\s]+/g, ' ')
    .replaceAll(/ ?([(),]) ?/g, '$1')
    .trim()
}

const SQLITE = {
  table: `select name, wr, strict from pragma_table_list where type = 'table' and name not like 'sqlite%'`,
  // A constraint that the columns do not show would be here.
  words: `select name, lower(sql) like '%check%(%' or lower(sql) like '%references%' or lower(sql) like '%collate%'
    from sqlite_master where type = 'table' and name not like 'sqlite%'`,
  // bigint is integer here, except in a primary key.
  column: `select t.name, c.cid, c.name, case when c.pk = 0 then replace(lower(c.type), 'bigint', 'integer') else lower(c.type) end,
      c."notnull", c.dflt_value, c.pk, c.hidden from pragma_table_list t join pragma_table_xinfo(t.name) c
    where t.type = 'table' and t.name not like 'sqlite%'`,
  index: `select t.name, i.name, i."unique", i.origin, i.partial,
      (select group_concat(coalesce(x.name, 'expression') || ' ' || x.desc || ' ' || x.coll || ' ' || x.key, ', ')
        from pragma_index_xinfo(i.name) x),
      (select case when i.partial or exists (select 1 from pragma_index_xinfo(i.name) x where x.cid = -2) then lower(m.sql) end
        from sqlite_master m where m.type = 'index' and m.name = i.name)
    from pragma_table_list t join pragma_index_list(t.name) i where t.type = 'table' and t.name not like 'sqlite%'`,
  trigger: `select name, tbl_name, sql from sqlite_master where type in ('trigger', 'view')`,
}

const OWN = 'relnamespace = current_schema()::regnamespace'

const POSTGRES = {
  table: `select relname, relkind, reloptions, relpersistence from pg_class where ${OWN} and relkind in ('r', 'p', 'v', 'm')`,
  column: `select relname, attnum, attname, format_type(atttypid, atttypmod), attnotnull, attstorage, attidentity, attgenerated,
      (select collname from pg_collation where oid = attcollation), pg_get_expr(adbin, adrelid)
    from pg_class join pg_attribute on attrelid = pg_class.oid left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where ${OWN} and relkind in ('r', 'p') and attnum > 0`,
  index: `select indisvalid, pg_get_indexdef(indexrelid) from pg_index join pg_class on pg_class.oid = indexrelid where ${OWN}`,
  constraint: `select conrelid::regclass, conname, pg_get_constraintdef(oid) from pg_constraint
    where connamespace = current_schema()::regnamespace`,
  trigger: `select tgenabled, pg_get_triggerdef(pg_trigger.oid) from pg_trigger join pg_class on pg_class.oid = tgrelid
    where ${OWN} and not tgisinternal`,
  function: `select pg_get_functiondef(oid) from pg_proc where pronamespace = current_schema()::regnamespace`,
  sequence: `select sequencename, data_type, start_value, increment_by, last_value from pg_sequences
    where schemaname = current_schema()`,
}
