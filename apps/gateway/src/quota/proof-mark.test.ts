import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seconds } from '@chancery/protocol'
import { silentLog } from '@chancery/service-kit'
import { ManualClock } from '@chancery/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LocalQuota } from './local-quota.ts'
import { ProofMark, QuotaUnavailableError, proofMarkFile, writeProofMark } from './quota.ts'

const CLAIM = { clientId: 'node', kind: 'requests', limit: 1000, cost: 1 } as const
const clock = new ManualClock('2026-01-02T03:04:05Z')
let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chancery-mark-'))
  file = proofMarkFile(join(folder, 'state'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A process that starts now. */
function start(): LocalQuota {
  return new LocalQuota(clock, ProofMark.open(file, clock.now(), silentLog))
}

it('a proof dated ahead stays spent when the process is killed and starts again', async () => {
  await writeProofMark(file, clock.now())
  const captured = { name: 'captured', created: clock.now() + seconds(28) }
  const first = start()
  expect(await first.spend(captured, CLAIM)).toBeUndefined()
  expect(await first.spend(captured, CLAIM)).toBe('replayed')
  clock.advance(1)
  const second = start()
  expect(await second.spend(captured, CLAIM)).toBe('replayed')
  clock.advance(32)
  expect(await second.spend({ name: 'honest', created: clock.now() }, CLAIM)).toBeUndefined()
})

it.each([
  ['missing', () => rmSync(file, { force: true })],
  ['damaged', () => writeFileSync(file, '{"accepted_through":')],
  ['empty', () => writeFileSync(file, '')],
])('a mark that is %s closes the check for the time in which a proof could be dated ahead', async (_what, lose) => {
  lose()
  const quota = start()
  expect(await quota.spend({ name: 'a', created: clock.now() + seconds(30) }, CLAIM)).toBe('replayed')
  clock.advance(31)
  expect(await quota.spend({ name: 'b', created: clock.now() }, CLAIM)).toBeUndefined()
})

it('accepts nothing that it could not write', async () => {
  await writeProofMark(file, clock.now())
  const quota = start()
  clock.advance(1)
  rmSync(folder, { recursive: true })
  await expect(async () => quota.spend({ name: 'a', created: clock.now() }, CLAIM)).rejects.toThrow(
    QuotaUnavailableError,
  )
})
