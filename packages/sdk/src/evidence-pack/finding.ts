import type { Verdict } from '@chancery/protocol'

/** What a check found: nothing wrong, a reason, or what is missing. */
export type Finding = Verdict<string> | { readonly missing: string }

export const PASSED: Finding = { ok: true }

export function failed(reason: string): Finding {
  return { ok: false, reason }
}

export function missing(what: string): Finding {
  return { missing: what }
}

/** The first finding that is not a pass; failures come before missing parts. */
export function worst(findings: readonly Finding[]): Finding {
  return findings.find((each) => 'ok' in each && !each.ok) ?? findings.find((each) => 'missing' in each) ?? PASSED
}
