import { Refusal } from '@chancery/contract'
import type { Query } from '@chancery/service-kit'

/** Whether a view has what partners report. */
export function readReported(query: Query, absent: 'include' | 'exclude'): boolean {
  const given = query.first('reported') ?? absent
  if (given !== 'include' && given !== 'exclude') throw new Refusal('invalid_input', { field: 'reported' })
  return given === 'include'
}
