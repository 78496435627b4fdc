import { expect, it } from 'vitest'
import { digestOf } from '../canonical/digest.ts'
import { isPresentedBound } from './shortcuts.ts'

const body = { attestation_id: 'a-1', subject_id: 's' }
const attestation = { ...body, signatures: [{ key_id: 'k', sig: 'x' }] }
const bound = { subject_id: 's', issuer_sovereign_id: 'net', revocation_seq_checked: 0 }
const attestation_binding = { ...bound, attestation_id: 'a-1', attestation_digest: digestOf(body) }

it('an attestation in the payload of a decision is the one that the decision names', () => {
  expect(isPresentedBound({}, {})).toBe(true)
  expect(isPresentedBound({ attestation }, { attestation_binding })).toBe(true)
  for (const other of [null, 'a-1', { ...attestation, subject_id: 't' }, { ...attestation, attestation_id: 'a-2' }])
    expect(isPresentedBound({ attestation: other }, { attestation_binding })).toBe(false)
  expect(isPresentedBound({ attestation }, {})).toBe(false)
})
