import type { TreatyPreview, TreatyRow } from '@chancery/sdk/authority'
import type { JsonObject } from '@chancery/protocol'
import { at } from '../../client.ts'
import { shortId } from '../../parts/short-id.ts'
import type { Act, ActRequest, Effect, Values } from '../../signing/act.ts'
import { keysOf } from '../partners/material.ts'
import { reasonBody } from '../partners/member-acts.ts'
import { partnerHref } from '../partners/links.ts'
import { SCOPE_FIELDS, TERM_FIELDS, scopeOf, termEnd, termHours } from '../partners/terms.ts'
import { endEffects } from './end-effects.ts'

/** Signs the same treaty again and ends the old one, in one request. */
export function renewAct({ treaty }: TreatyRow): Act {
  const { treaty_id, subject_sovereign_id: name, scope, subject_public_keys: keys } = treaty
  return {
    name: 'renew',
    title: `Renew the treaty with ${name}`,
    sentence: 'The same treaty with a new end. The old one ends as renewed. Recognition is not interrupted.',
    button: 'Sign and renew it',
    isPrivileged: true,
    fields: TERM_FIELDS,
    requests: (values) => [renewal(treaty_id, { validity_hours: termHours(values) })],
    effects: (values) => [
      ...renewed(treaty_id, values),
      {
        shape: 'tick',
        tone: 'good',
        text: 'Roles, statuses and keys stay as they were',
        more: `${scope.allowed_roles.join(', ') || 'no role'} · ${scope.accepted_statuses.join(', ')} · ${keys.join(', ')}`,
      },
    ],
    done: (_answers, values) => ({ toast: renewedToast(name, values) }),
  }
}

/** Signs a treaty with other keys, roles or statuses in place of the old one. */
export function replaceAct({ treaty }: TreatyRow): Act {
  const { treaty_id, subject_sovereign_id: name, scope, subject_public_keys: keys } = treaty
  return {
    name: 'replace',
    title: `Replace the treaty with ${name}`,
    sentence: 'A new treaty with other keys, roles or statuses. The old one ends as replaced.',
    button: 'Sign and replace it',
    isPrivileged: true,
    fields: [
      {
        name: 'keys',
        label: 'Its keys',
        kind: 'text',
        isMono: true,
        initial: keys.join(' '),
        hint: 'Separated by spaces. Members signed with another key are refused.',
      },
      ...SCOPE_FIELDS(scope.allowed_roles, scope.accepted_statuses),
      ...TERM_FIELDS,
    ],
    requests: (values) => [
      renewal(treaty_id, {
        validity_hours: termHours(values),
        subject_public_keys: keysOf(values['keys']),
        scope: { ...scopeOf(values), claims: scope.claims },
      }),
    ],
    effects(values) {
      const now = scopeOf(values)
      return [
        ...renewed(treaty_id, values),
        ...differences('role', scope.allowed_roles, now.allowed_roles),
        ...differences('status', scope.accepted_statuses, now.accepted_statuses),
        ...differences('key', keys, keysOf(values['keys'])),
      ]
    },
    done: (_answers, values) => ({ toast: renewedToast(name, values) }),
  }
}

function renewal(treaty_id: string, body: JsonObject): ActRequest {
  return { target: at`/admin/recognition-treaties/${treaty_id}/renew`, body, isRepeatable: true }
}

function renewed(treaty_id: string, values: Values): readonly Effect[] {
  return [
    { shape: 'circle', tone: 'good', text: `A new treaty is signed, from now to ${termEnd(values)}` },
    {
      shape: 'dash',
      tone: 'ended',
      text: `${shortId(treaty_id)} ends in the same step`,
      more: 'No trust path is lost.',
    },
  ]
}

const renewedToast = (name: string, values: Values): { text: string; link: { href: string; text: string } } => ({
  text: `${name} is recognised until ${termEnd(values)}.`,
  link: { href: partnerHref(name), text: 'Open' },
})

function differences(what: string, before: readonly string[], after: readonly string[]): readonly Effect[] {
  return [
    ...before
      .filter((each) => !after.includes(each))
      .map((each): Effect => ({ shape: 'cross', tone: 'bad', text: `The ${what} ${each} is no longer accepted` })),
    ...after
      .filter((each) => !before.includes(each))
      .map((each): Effect => ({ shape: 'tick', tone: 'good', text: `The ${what} ${each} is accepted` })),
  ]
}

/** Ends the recognition. The typed name confirms it. */
export function endAct({ treaty }: TreatyRow, theirEnd: string | undefined): Act {
  const { treaty_id, subject_sovereign_id: name } = treaty
  return {
    name: 'end',
    title: `End the treaty with ${name}`,
    sentence: 'From the next request on, none of its members is accepted by this treaty.',
    button: 'Sign and end it',
    isPrivileged: true,
    hasDryRun: true,
    fields: [
      {
        name: 'reason',
        label: 'Reason',
        kind: 'text',
        initial: 'relationship_ended',
        hint: 'It is public, in the list of treaties.',
      },
    ],
    final: { warning: `This is final. To recognise ${name} again, sign a new treaty.`, typed: name },
    requests: (values) => [
      { target: at`/admin/recognition-treaties/${treaty_id}/revoke`, body: reasonBody(values['reason']) },
    ],
    effects: (_values, dryRun) => [
      ...endEffects(dryRun as unknown as TreatyPreview),
      theirEnd === undefined
        ? { shape: 'dash', tone: 'ended', text: 'Whether it recognises this network is not affected' }
        : {
            shape: 'tick',
            tone: 'good',
            text: 'Its treaty with this network is not affected',
            more: `Our members stay accepted there until ${theirEnd.slice(0, 16).replace('T', ' ')} UTC.`,
          },
    ],
    done: () => ({ toast: { text: `The treaty with ${name} has ended.` } }),
  }
}
