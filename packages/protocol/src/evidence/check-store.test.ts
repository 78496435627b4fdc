import { beforeAll, describe, expect, it } from 'vitest'
import { draftRetentionCheckpoint, retentionCheckpointForm } from '../artifacts/retention-checkpoint.ts'
import type { RetentionCheckpoint } from '../artifacts/retention-checkpoint.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { toBase64 } from '../canonical/base64.ts'
import { asJson } from '../signing/verify-any.ts'
import { signForm } from '../signing/received.ts'
import { type Signer, seedSigner } from '../signing/keys.ts'
import { chainEntry } from './read-event.ts'
import { StoreChecker } from './check-store.ts'
import { CHECKPOINT_SUBJECT } from './shortcuts.ts'

let na: Signer
beforeAll(async () => {
  na = await seedSigner('na', toBase64(new Uint8Array(32).fill(5)))
})

const DIGEST = 'd'.repeat(64)

function checkpoint(resources: number): Promise<RetentionCheckpoint> {
  const heads = Array.from(
    { length: resources },
    (_, n) => [`r-${n}`, { resource_sequence: n + 1, record_digest: DIGEST }] as const,
  )
  const draft = draftRetentionCheckpoint({
    checkpoint_id: 'c-1',
    created_at: '2028-05-01T00:00:00Z',
    cutoff: '2028-04-01T00:00:00Z',
    removed_through_sequence: 7,
    last_removed_entry_digest: DIGEST,
    removed_count: 7,
    heads: new Map(heads),
    previous_checkpoint_id: null,
    issued_by: 'na',
  })
  return signForm(retentionCheckpointForm, draft, na)
}

const line = (record: RetentionCheckpoint): string =>
  chainEntry(
    { store_sequence: 7, entry_digest: DIGEST },
    CHECKPOINT_SUBJECT,
    canonicalJson(asJson(record)),
    '2028-05-01T00:00:00Z',
  ).line

async function failures(record: RetentionCheckpoint, boundary?: RetentionCheckpoint): Promise<readonly string[]> {
  const keys = { authority: [na.publicKey], executor: () => undefined }
  const checker = new StoreChecker({ keys, scope: 'store', boundary })
  await checker.add(line(record))
  return (await checker.finish()).failures.map(({ store_sequence, reason }) => `${store_sequence} ${reason}`)
}

describe('a run that begins behind a checkpoint', () => {
  it('reads one that names more resources than any request may', async () => {
    const large = await checkpoint(20_000)
    expect(await failures(large, large)).toEqual([])
  })

  it('is accounted for by the checkpoint in it, and not without one', async () => {
    const own = await checkpoint(1)
    expect(await failures(own)).toEqual([])
    expect(await failures({ ...own, removed_through_sequence: 6 })).toEqual([
      '8 invalid_signature',
      '8 store_sequence_gap',
    ])
  })

  it('refuses a checkpoint of another signer', async () => {
    const own = await checkpoint(1)
    const forged = await signForm(
      retentionCheckpointForm,
      own,
      await seedSigner('na', toBase64(new Uint8Array(32).fill(6))),
    )
    expect(await failures(own, forged)).toEqual(['null invalid_signature'])
  })
})
