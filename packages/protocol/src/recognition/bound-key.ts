import type { Attestation } from '../artifacts/attestation.ts'

/**
 * Whether an attestation is about the holder of a key. A `subject_public_key` decides alone. Only without one does the
 * name count, when it is the key as text.
 */
export function isBoundTo(
  { subject_public_key, subject_id }: Pick<Attestation, 'subject_public_key' | 'subject_id'>,
  key: string,
): boolean {
  return subject_public_key === null ? subject_id === key : subject_public_key === key
}
