import type { JsonObject } from '@chancery/protocol'
import { at } from '../../client.ts'
import type { Act, Effect, Values } from '../../signing/act.ts'

const KEEP = 'keep'

/** Revokes one operator key. `isOwn`: it signs this request, and the console is locked after it. */
export function revokeKeyAct(keyId: string, isOwn: boolean): Act {
  return {
    name: 'revoke',
    title: `Revoke the operator key ${keyId}`,
    sentence: 'Every instance refuses requests of this key from the next one on.',
    button: 'Sign and revoke',
    fields: [
      {
        name: 'reason',
        label: 'Why',
        kind: 'text',
        isOptional: true,
        placeholder: 'The laptop was stolen',
        hint: 'Stored in the list of operator keys and in the audit log.',
      },
      {
        name: 'invites',
        label: 'Invites that it made and that are unused',
        kind: 'choice',
        initial: 'withdraw',
        choices: [
          { value: 'withdraw', text: 'withdraw them' },
          { value: KEEP, text: 'keep them: nodes can still join with them' },
        ],
      },
    ],
    isPrivileged: true,
    hasDryRun: true,
    final: {
      warning: 'The key id can never be used again. A new key needs a new id, in the settings of the authority.',
      typed: keyId,
    },
    requests: (values) => [{ target: at`/admin/operator-keys/${keyId}/revoke`, body: toBody(values) }],
    effects: (values, dryRun) => keyEffects(values, dryRun ?? {}, isOwn),
    done: ([answer]) => ({
      toast: {
        text: `Revoked ${keyId}.`,
        more:
          answer?.['already_revoked'] === true
            ? 'It was revoked already.'
            : `${count(answer?.['remaining_active_keys'])} keys can still sign.`,
      },
    }),
  }
}

function toBody(values: Values): JsonObject {
  const reason = (values['reason'] ?? '').trim()
  return {
    ...(reason === '' ? {} : { reason }),
    ...(values['invites'] === KEEP ? {} : { withdraw_invites: true }),
  }
}

const count = (value: unknown): number => (typeof value === 'number' ? value : 0)

/** Returns the effect of revoking an operator key from the answer of its dry run. */
export function keyEffects(values: Values, dryRun: JsonObject, isOwn: boolean): readonly Effect[] {
  if (dryRun['would_change'] === false)
    return [{ shape: 'dash', tone: 'ended', text: 'Nothing changes: it is revoked already' }]
  const [active, privileged, invites] = [
    count(dryRun['remaining_active_keys']),
    count(dryRun['remaining_privileged_keys']),
    count(dryRun['open_invites']),
  ]
  const effects: Effect[] = [
    {
      shape: privileged === 0 ? 'triangle' : 'tick',
      tone: privileged === 0 ? 'urgent' : 'good',
      text: `${active} operator ${active === 1 ? 'key remains' : 'keys remain'}, ${privileged} of them privileged`,
    },
  ]
  if (invites > 0)
    effects.push(
      values['invites'] === KEEP
        ? { shape: 'triangle', tone: 'watch', text: `${invites} unused invites of this key stay usable` }
        : { shape: 'cross', tone: 'bad', text: `${invites} unused invites of this key are withdrawn` },
    )
  const rules = count(dryRun['active_rules'])
  if (rules > 0)
    effects.push({
      shape: 'triangle',
      tone: 'watch',
      text: `${rules} admission ${rules === 1 ? 'rule' : 'rules'} of this key stay in force: chancery operator revoke --remove-rules`,
    })
  if (isOwn) effects.push({ shape: 'square', tone: 'bad', text: 'This is your key: this console is refused after it' })
  return effects
}
