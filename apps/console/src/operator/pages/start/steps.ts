import type { FirstSteps } from '@chancery/sdk/authority'
import { readChoice, storeChoice } from '../../choices.ts'
import { findPin } from '../../pin.ts'

/** A step that the authority cannot see: the operator says whether it was done. */
export type SaidStep = 'root-key' | 'gateway' | 'watch'
export type Said = 'done' | 'skipped'

export interface Step {
  readonly name: string
  readonly title: string
  readonly text: string
  readonly isDone: boolean
  /** A page or a drawer of the console. */
  readonly action?: { readonly text: string; readonly href: string }
  /** The same on a command line. */
  readonly command?: string
  /** The answers of the operator, for a step that the authority cannot see. */
  readonly says?: { readonly step: SaidStep; readonly done: string; readonly skip?: string }
  /** What must come first. */
  readonly waits?: string
}

/** Each network has its own choices: two networks may have had the same address. */
const nameOf = (name: string): string => `first-steps.${findPin()?.fingerprint.slice(7, 23) ?? ''}.${name}`

export function findSaid(step: SaidStep): Said | undefined {
  const value = readChoice(nameOf(step))
  return value === 'done' || value === 'skipped' ? value : undefined
}

export function storeSaid(step: SaidStep, said: Said | undefined): void {
  storeChoice(nameOf(step), said ?? '')
}

export const isHidden = (): boolean => readChoice(nameOf('hidden')) === 'yes'
export const hideSteps = (isOn: boolean): void => storeChoice(nameOf('hidden'), isOn ? 'yes' : '')

/** All steps in their order, each with its state: from facts of the authority, or from what the operator said. */
export function listSteps(facts: FirstSteps, said: (step: SaidStep) => Said | undefined = findSaid): readonly Step[] {
  return [...beginSteps(said), ...joinSteps(facts), ...ruleSteps(facts), ...operateSteps(facts, said)]
}

export function openSteps(facts: FirstSteps): number {
  return listSteps(facts).filter(({ isDone }) => !isDone).length
}

function beginSteps(said: (step: SaidStep) => Said | undefined): readonly Step[] {
  return [
    {
      name: 'founded',
      title: 'The network is founded',
      text: 'The root key signed the genesis block, and the authority serves it.',
      isDone: true,
    },
    {
      name: 'signed-in',
      title: 'You are signed in',
      text: 'The authority accepts your operator key.',
      isDone: true,
    },
    {
      name: 'root-key',
      title: 'Store the root key offline',
      text: 'The authority never needs it. Without it, no new authority key can be signed. Only you can check where it is.',
      isDone: said('root-key') !== undefined,
      says: { step: 'root-key', done: 'It is offline' },
    },
  ]
}

function joinSteps({ invite_made, node_joined, usable_operator_keys }: FirstSteps): readonly Step[] {
  return [
    {
      name: 'invite',
      title: 'Invite the first node',
      text: 'A token lets one machine join. Give it a name and roles, and send the token over a channel that you trust.',
      isDone: invite_made,
      action: { text: 'Invite a node…', href: '/operator/nodes?do=invite' },
      command: 'chancery invite create --role role:client --out invite.token',
    },
    {
      name: 'join',
      title: 'Let it join',
      text: 'Run the command of the invite on the machine. This step is done when the first certificate is issued.',
      isDone: node_joined,
      command: 'chancery join --home ./node --token-file invite.token --genesis FINGERPRINT',
      ...(invite_made
        ? { action: { text: 'Open invites', href: '/operator/nodes?tab=invites' } }
        : { waits: 'after the invite' }),
    },
    {
      name: 'operator',
      title: 'Add a second operator',
      text: 'If your key is lost, the other operator can revoke it. The last usable key cannot be revoked.',
      isDone: usable_operator_keys > 1,
      action: { text: 'Operator keys', href: '/operator/keys' },
      command: 'chancery operator add ops-2 --key ./ops-2.pub --tier privileged',
    },
  ]
}

function ruleSteps({ policy_active, partner_added }: FirstSteps): readonly Step[] {
  return [
    {
      name: 'policy',
      title: 'Put a policy in force',
      text: 'Without one, an agreement or attestation alone decides. Start with an example, test it, publish and activate it.',
      isDone: policy_active,
      action: { text: 'New policy', href: '/operator/policies/~new/draft' },
      command: 'chancery policy new --name spending',
    },
    {
      name: 'partner',
      title: 'Add a partner',
      text: 'A treaty lets members of another network work here, within limits and until a date.',
      isDone: partner_added,
      action: { text: 'Recognise a partner…', href: '/operator/partners?do=recognise' },
      command: 'chancery partner add https://na.partner.example --root-key partner-root.pub',
    },
  ]
}

function operateSteps({ backup_at }: FirstSteps, said: (step: SaidStep) => Said | undefined): readonly Step[] {
  return [
    {
      name: 'gateway',
      title: 'Run a gateway',
      text: 'A gateway verifies callers in front of a service. It reads public lists only, so the authority cannot see it.',
      isDone: said('gateway') !== undefined,
      says: { step: 'gateway', done: 'It runs', skip: 'Skip' },
      command: 'chancery gateway init --url URL --root-key root.pub --home ./gateway',
    },
    {
      name: 'backup',
      title: 'Make a backup',
      text: 'On the machine of the authority. The command records the time in the database, and this step is done.',
      isDone: backup_at !== null,
      command: 'chancery authority backup --home . --out ./backup',
    },
    {
      name: 'watch',
      title: 'Monitor it from outside',
      text: 'On another machine. It reports an old list and a history that changed. The authority cannot see it.',
      isDone: said('watch') !== undefined,
      says: { step: 'watch', done: 'It runs', skip: 'Skip' },
      command: 'chancery authority watch --genesis genesis.json --state watch.json --every 60s',
    },
  ]
}
