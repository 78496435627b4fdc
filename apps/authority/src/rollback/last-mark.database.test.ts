import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { accepted, startTestAuthority } from '@chancery/testkit'
import { expect, it } from 'vitest'
import { rowsOf } from '../testing/rows.suite.ts'
import { readMark } from './mark-file.ts'
import { findRollback, readHeads } from './positions.ts'

it('a stop writes the state since the last mark, so that an old backup restored after it is detected', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-mark-'))
  const file = join(folder, 'authority.mark')
  try {
    const na = await startTestAuthority({ settings: { NA_HIGH_WATER_FILES: file } })
    const { all } = na.core.keys
    await na.core.rollback.writeMark()
    const body = { subject_id: 'member', roles: ['role:client'] }
    const { attestation_id } = accepted(await na.as('privileged')('POST', '/admin/attestations', body), 201)
    accepted(await na.as('privileged')('POST', `/admin/attestations/${String(attestation_id)}/revoke`))
    const { sequence } = accepted(await na.request('GET', '/sovereign-revocation-feed'))
    await na.stop()
    expect((await readMark(file, all))?.feed?.sequence).toBe(sequence)
  } finally {
    await rm(folder, { recursive: true })
  }
})

it('a changed list is another history, whatever digest its row has, and a mark has the text of its list', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-mark-'))
  const file = join(folder, 'authority.mark')
  const na = await startTestAuthority({ settings: { NA_HIGH_WATER_FILES: file } })
  try {
    const { text } = await na.request('GET', '/crl')
    await na.core.rollback.writeMark()
    const mark = await readMark(file, na.core.keys.all)
    if (mark?.crl === null || mark === undefined) throw new Error('no mark')
    const { database } = na.core
    const compare = async (): Promise<string[]> => findRollback(database.read, await readHeads(database.read), mark)
    const edit = (row: { crl_json: string; digest: string | null }) =>
      rowsOf(database).updateTable('crl_versions').set(row).execute()
    expect(await compare()).toEqual([])
    await edit({ crl_json: text.replace('crl_id', 'crl_ID'), digest: mark.crl.digest })
    expect(await compare()).toEqual(['crl'])
    await edit({ crl_json: text, digest: 'x' })
    expect(await compare()).toEqual([])
    expect((await readHeads(database.read)).last_crl).toBe(text)
  } finally {
    await na.stop()
    await rm(folder, { recursive: true })
  }
})
