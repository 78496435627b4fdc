/** The answer to "does this hold?" is a value, never an exception. */
export type Verdict<Reason extends string> = { readonly ok: true } | { readonly ok: false; readonly reason: Reason }

export const VALID: { readonly ok: true } = { ok: true }

export function invalid<const Reason extends string>(reason: Reason): { readonly ok: false; readonly reason: Reason } {
  return { ok: false, reason }
}
