import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { LIMITERS } from '@chancery/contract'
import { expect, it } from 'vitest'
import { ALL_AUTHORITY_SETTINGS } from '../../settings/authority-settings.ts'
import { TABLE_ENDS } from './table-ends.ts'
import { TABLE_SHARES } from './table-shares.ts'

const SOURCES = join(import.meta.dirname, '..', '..')
const SETTINGS = new Set<string>([
  ...Object.values(ALL_AUTHORITY_SETTINGS).map(({ name }) => name),
  ...Object.values(LIMITERS).map(({ setting }) => setting),
])

it('each table that callers make grow has an owner, a share that exists, and an end', () => {
  const byCallers = Object.entries(TABLE_SHARES).filter((entry) => typeof entry[1] === 'object')
  expect(byCallers.length).toBeGreaterThan(20)
  for (const [table, share] of byCallers) {
    if (typeof share !== 'object') continue
    const isThere = share.share.endsWith('.ts') ? existsSync(join(SOURCES, share.share)) : SETTINGS.has(share.share)
    expect(isThere, `${table}: ${share.share}`).toBe(true)
    expect(share.owner, table).toMatch(/^(address|key|partner)$/)
    const { timed, most } = TABLE_ENDS[table as keyof typeof TABLE_ENDS]
    expect(timed ?? most, table).toBeDefined()
  }
})

it('has the same tables as the ends', () => {
  expect(Object.keys(TABLE_SHARES).toSorted()).toEqual(Object.keys(TABLE_ENDS).toSorted())
})
