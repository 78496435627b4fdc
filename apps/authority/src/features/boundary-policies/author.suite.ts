import type { Author } from './cedar-authoring.ts'

/** An operator whose request stays open until the signal ends. */
export function authorOf(
  key_id: string,
  tier: Author['operator']['tier'] = 'standard',
  signal: AbortSignal = new AbortController().signal,
): Author {
  return { operator: { key_id, tier }, signal }
}
