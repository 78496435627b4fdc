import type { Verdict } from '@chancery/protocol'

/** What a check found: nothing wrong, a reason, or what is missing. */
export type Finding = Verdict<string> | { readonly missing: string }

export const PASSED: Finding = { ok: true }

export function failed(reason: string): Finding {
  return { ok: false, reason }
}
