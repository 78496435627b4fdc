import { authorityNow } from '../../client.ts'
import { absolute } from '../../parts/duration.ts'
import type { ActField, Values } from '../../signing/act.ts'
import { wordsOf } from './material.ts'

const HOUR_MS = 3_600_000
const MOST_HOURS = 26_280

/** How long a treaty is valid: a few choices, or other hours. */
export const TERM_FIELDS: readonly ActField[] = [
  {
    name: 'term',
    label: 'For',
    kind: 'few',
    initial: '720',
    choices: [
      { value: '168', text: '7 days' },
      { value: '720', text: '30 days' },
      { value: '2160', text: '90 days' },
      { value: 'other', text: 'Other' },
    ],
  },
  {
    name: 'hours',
    label: 'Hours',
    kind: 'number',
    initial: '24',
    isShown: (values) => values['term'] === 'other',
  },
]

export const SCOPE_FIELDS = (roles: readonly string[], statuses: readonly string[]): readonly ActField[] => [
  {
    name: 'roles',
    label: 'Roles that are accepted',
    kind: 'text',
    isMono: true,
    initial: roles.join(' '),
    hint: 'Separated by spaces. Members with another role are refused.',
  },
  {
    name: 'statuses',
    label: 'Statuses that are accepted',
    kind: 'text',
    isMono: true,
    initial: statuses.join(' '),
    hint: 'active, or more, separated by spaces.',
  },
]

export function termHours(values: Values): number {
  const hours = Number(values['term'] === 'other' ? values['hours'] : values['term'])
  if (!Number.isInteger(hours) || hours < 1 || hours > MOST_HOURS)
    throw new Error(`For: a whole number of hours from 1 to ${MOST_HOURS}.`)
  return hours
}

export const termEnd = (values: Values): string => absolute(authorityNow() + termHours(values) * HOUR_MS)

export function scopeOf(values: Values): { allowed_roles: string[]; accepted_statuses: string[] } {
  const [allowed_roles, accepted_statuses] = [wordsOf(values['roles']), wordsOf(values['statuses'])]
  if (allowed_roles.length === 0) throw new Error('Give at least one role, for example role:client.')
  if (accepted_statuses.length === 0) throw new Error('Give at least one status, for example active.')
  return { allowed_roles, accepted_statuses }
}
