import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { accepted, startTestAuthority } from '@chancery/testkit'
import { expect, it } from 'vitest'
import { readMark } from './mark-file.ts'

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
