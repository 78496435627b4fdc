/** Texts for the reasons of protocol/trust-operations 7.4. */
export const DISCLOSURE_REASONS: Readonly<Record<string, string>> = {
  valid: 'it shows a capability of the commitment.',
  commitment_not_signed: 'the commitment carries no signature.',
  commitment_invalid_signature: 'no given key signed this commitment, or it was changed since. Do not use it.',
  path_length_inconsistent: 'its path does not fit the number of committed capabilities.',
  leaf_hash_mismatch: 'its hash is not that of the capability it shows.',
  root_mismatch: 'it does not match the root of this commitment.',
}
