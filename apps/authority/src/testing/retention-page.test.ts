import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestAuthority, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { jobsOf } from '../features.ts'
import { coreJobs } from '../startup/core-jobs.ts'
import { ALL_AUTHORITY_SETTINGS } from '../settings/authority-settings.ts'
import { listTables } from '../database/copy/unfinished-copy.ts'
import { TABLE_NAMES } from '../database/sizes/measure-tables.ts'
import { TABLE_ENDS } from '../database/sizes/table-ends.ts'

/** Lines of the table of docs/operate/retention.md: tables, what ends a row, setting, job. */
const PAGE = readFileSync(join(import.meta.dirname, '../../../../docs/operate/retention.md'), 'utf8')
const ROWS = [...PAGE.matchAll(/^\| (`[a-z_`, ]+`) \| ([^|]+) \| ([^|]*)\| (`[^|]+`|none) \|$/gm)].map(
  ([, tables = '', end = '', setting = '', job = '']) => ({ tables: codeIn(tables), end, setting, job }),
)

function codeIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? '')
}

let na: TestAuthority
beforeAll(async () => {
  // The job of the webhook exists with its setting only.
  na = await startTestAuthority({ settings: { NA_APPROVAL_WEBHOOK_URL: 'https://hooks.example/a' } })
})
afterAll(() => na.stop())

describe('docs/operate/retention.md', () => {
  it('names every table of the schema once, with what ends its rows', async () => {
    const named = ROWS.flatMap(({ tables }) => tables)
    expect([...named].sort(), 'a new table needs a row in docs/operate/retention.md').toEqual(
      [...(await listTables(na.core.database))].sort(),
    )
  })

  it('names the jobs and tables that doctor checks', async () => {
    expect(TABLE_NAMES).toEqual([...(await listTables(na.core.database))].sort())
    for (const { tables, job } of ROWS)
      for (const table of tables) {
        const checked = TABLE_ENDS[table as keyof typeof TABLE_ENDS].timed?.job
        if (checked !== undefined) expect(codeIn(job), table).toEqual([checked])
      }
  })

  it('names existing jobs and settings', () => {
    const jobs = new Set([...coreJobs(na.core, na.settings), ...jobsOf(na.features, na.core)].map(({ name }) => name))
    const settings = new Set(Object.values(ALL_AUTHORITY_SETTINGS).map(({ name }) => name))
    const named = ROWS.flatMap(({ job }) => codeIn(job)).filter((name) => !name.startsWith('chancery '))
    expect(named.length).toBeGreaterThan(10)
    expect(named.filter((name) => !jobs.has(name))).toEqual([])
    const set = ROWS.flatMap(({ setting }) => codeIn(setting))
    expect(set).toEqual(expect.arrayContaining(['NA_CERTIFICATE_KEPT_DAYS', 'NA_AUDIT_KEPT_DAYS']))
    expect(set.filter((name) => !settings.has(name))).toEqual([])
  })

  it('gives a reason for each table whose rows stay', () => {
    for (const { tables, end, job } of ROWS)
      if (job === 'none') expect(end, tables.join()).toMatch(/^(stays|one row)\b.*[:;]/)
  })
})
