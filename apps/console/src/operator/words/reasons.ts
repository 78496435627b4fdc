import type { RevocationReason } from '@chancery/protocol'

/** Reasons of a revocation, as sentences for people. The code is always shown with it. */
export const REASON_WORDS: Readonly<Record<RevocationReason, string>> = {
  key_compromise: 'its key may be in other hands; the key is refused permanently, with all its certificates',
  cessation_of_operation: 'it is no longer used',
  superseded: 'another certificate replaced it',
  unspecified: 'no reason is given',
}

export function reasonText(code: string): string {
  return Object.hasOwn(REASON_WORDS, code) ? `${REASON_WORDS[code as RevocationReason]} · ${code}` : code
}
