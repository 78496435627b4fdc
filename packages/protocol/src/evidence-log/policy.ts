import { cosignedAt, logOrigin, openCheckpoint, readLogKey, readNote, readWitnessKey } from './note.ts'
import type { LogCheckpoint, NoteKey, SignedNote } from './note.ts'
import { type AuthorityKeys, allAuthorityKeys, authorityKeysAt } from '../artifacts/followed-keys.ts'
import { type LogIdentity, logIdentityForm } from '../artifacts/log-identity.ts'
import { asReceived, verifyReceived } from '../signing/received.ts'

/** The checkpoint of a note that one of the keys signed under this name. */
export async function openCheckpointByAny(
  note: string,
  origin: string,
  keys: readonly string[],
): Promise<LogCheckpoint | undefined> {
  for (const key of keys) {
    const opened = await openCheckpoint(note, origin, key)
    if (opened !== undefined) return opened
  }
  return undefined
}

/** The name of a log, and the keys whose checkpoints count. */
export interface LogTrust {
  readonly origin: string
  readonly keys: readonly string[]
}

/**
 * The log of an authority. Without a log identity it has the name that follows from the network, and only keys of the
 * authority sign it. Undefined for an identity that the authority did not sign for its network. `signers` are the keys
 * that count for a record of a date.
 */
export async function trustLog(
  keys: AuthorityKeys,
  identity: LogIdentity | null | undefined,
  signers: (date: string) => readonly string[] = (date) => authorityKeysAt(keys, date),
): Promise<LogTrust | undefined> {
  const own = allAuthorityKeys(keys)
  const { network_name } = keys.genesis
  if (identity === null || identity === undefined) return { origin: logOrigin(network_name), keys: own }
  if (identity.sovereign_id !== network_name || identity.signature?.key_id !== identity.issued_by) return undefined
  const verdict = await verifyReceived(asReceived(logIdentityForm, identity), signers(identity.issued_at))
  return verdict.ok ? { origin: identity.origin, keys: [...own, ...identity.public_keys] } : undefined
}

/** The checkpoint of a note of an authority. It has no date, so a former key may have signed it. */
export async function openLog(
  note: string,
  keys: AuthorityKeys,
  identity?: LogIdentity | null,
): Promise<LogCheckpoint | undefined> {
  const trust = await trustLog(keys, identity)
  return trust === undefined ? undefined : openCheckpointByAny(note, trust.origin, trust.keys)
}

/** Logs, witnesses and the rule which of them are enough (C2SP tlog-policy). */
export interface LogPolicy {
  readonly logs: readonly (NoteKey & { readonly url: string | undefined })[]
  readonly witnesses: ReadonlyMap<string, NoteKey & { readonly url: string | undefined }>
  readonly groups: ReadonlyMap<string, { readonly threshold: number; readonly members: readonly string[] }>
  /** A witness, a group, or `none`. */
  readonly quorum: string
}

/** More than the published text asks every reader to accept. */
const MAX_LINES = 256
const MAX_LENGTH = 64 * 1024

/** The text of a policy is none. `line` is the first wrong one. */
export class LogPolicyError extends Error {
  override readonly name = 'LogPolicyError'
  readonly line: number

  constructor(line: number, problem: string) {
    super(`line ${line}: ${problem}`)
    this.line = line
  }
}

/** Reads a policy file. Without `needsQuorum` a file of logs alone is enough. Throws LogPolicyError. */
export function readLogPolicy(
  text: string,
  { needsQuorum = true }: { readonly needsQuorum?: boolean } = {},
): LogPolicy {
  const lines = text.split('\n')
  if (text.length > MAX_LENGTH || lines.length > MAX_LINES) throw new LogPolicyError(1, 'the file is too long')
  const reader = new PolicyReader()
  for (const [at, line] of lines.entries()) {
    const words = line.split(/[ \t]+/).filter((word) => word !== '')
    const problem = words[0] === undefined || words[0].startsWith('#') ? undefined : reader.add(words)
    if (problem !== undefined) throw new LogPolicyError(at + 1, problem)
  }
  const { logs, witnesses, groups, quorum } = reader
  if (quorum === undefined && needsQuorum) throw new LogPolicyError(lines.length, 'a quorum line is missing')
  return { logs, witnesses, groups, quorum: quorum ?? 'none' }
}

class PolicyReader {
  readonly logs: (NoteKey & { readonly url: string | undefined })[] = []
  readonly witnesses = new Map<string, NoteKey & { readonly url: string | undefined }>()
  readonly groups = new Map<string, { readonly threshold: number; readonly members: readonly string[] }>()
  readonly #used = new Set<string>()
  quorum: string | undefined

  /** Returns what is wrong with a line. */
  add([kind = '', ...words]: readonly string[]): string | undefined {
    if (kind === 'log') return this.#addLog(words)
    if (kind === 'witness') return this.#addWitness(words)
    if (kind === 'group') return this.#addGroup(words)
    return kind === 'quorum' ? this.#setQuorum(words) : 'begins with log, witness, group or quorum'
  }

  #addLog([key = '', url, ...rest]: readonly string[]): string | undefined {
    const read = readLogKey(key)
    if (read === undefined || rest.length > 0) return 'is not: log <verifier key of type 1> [<url>]'
    if (this.logs.some(({ publicKey }) => publicKey === read.publicKey)) return 'this key is listed twice'
    this.logs.push({ ...read, url })
    return undefined
  }

  #addWitness([name = '', key = '', url, ...rest]: readonly string[]): string | undefined {
    const read = readWitnessKey(key)
    if (read === undefined || rest.length > 0) return 'is not: witness <name> <verifier key of type 4> [<url>]'
    if (this.#isKnown(name)) return `the name ${name} is used twice`
    if ([...this.witnesses.values()].some(({ publicKey }) => publicKey === read.publicKey))
      return 'this key is listed twice'
    this.witnesses.set(name, { ...read, url })
    return undefined
  }

  #addGroup([name = '', count = '', ...members]: readonly string[]): string | undefined {
    if (name === '' || this.#isKnown(name)) return `the name ${name} is used twice`
    const threshold = count === 'any' ? 1 : count === 'all' ? members.length : Number(count)
    const isCount = ['any', 'all'].includes(count) || /^[1-9]\d{0,3}$/.test(count)
    if (!isCount || members.length === 0 || threshold > members.length)
      return 'is not: group <name> <all, any or a number> <name>…'
    const wrong = members.find((each) => each === 'none' || !this.#isKnown(each) || this.#used.has(each))
    if (wrong !== undefined || new Set(members).size !== members.length)
      return `${wrong ?? 'a member'} is not defined above, or is a member already`
    for (const each of members) this.#used.add(each)
    this.groups.set(name, { threshold, members })
    return undefined
  }

  #setQuorum([name = '', ...rest]: readonly string[]): string | undefined {
    if (this.quorum !== undefined || rest.length > 0) return 'one quorum line with one name is allowed'
    if (!this.#isKnown(name)) return `${name} is not defined above`
    this.quorum = name
    return undefined
  }

  #isKnown(name: string): boolean {
    return name === 'none' || this.witnesses.has(name) || this.groups.has(name)
  }
}

/** Writes a policy for one log whose witnesses are equal. */
export function writeLogPolicy(logKeys: readonly string[], witnesses: readonly string[], quorum: number): string {
  const named = witnesses.map((key, at) => ({ key, name: `witness-${at + 1}` }))
  return [
    ...logKeys.map((key) => `log ${key}`),
    ...named.map(({ key, name }) => `witness ${name} ${key}`),
    ...(quorum === 0 ? [] : [`group witnesses ${quorum} ${named.map(({ name }) => name).join(' ')}`]),
    quorum === 0 ? 'quorum none' : 'quorum witnesses',
    '',
  ].join('\n')
}

/** What a policy finds in a note: the checkpoint of a listed log, and who cosigned it. */
export interface PolicyFinding {
  readonly checkpoint: LogCheckpoint
  /** Verifier names of the witnesses that cosigned. */
  readonly cosigners: readonly string[]
  readonly hasQuorum: boolean
}

/** Undefined when no listed log signed the note. */
export async function applyLogPolicy(text: string, policy: LogPolicy): Promise<PolicyFinding | undefined> {
  const note = readNote(text)
  const origin = note?.text.split('\n')[0] ?? ''
  const keys = policy.logs.filter(({ name }) => name === origin).map(({ publicKey }) => publicKey)
  const checkpoint = await openCheckpointByAny(text, origin, keys)
  if (note === undefined || checkpoint === undefined) return undefined
  const cosigned = new Set<string>()
  for (const [name, key] of policy.witnesses) if (await hasCosigned(note, key)) cosigned.add(name)
  const cosigners = [...cosigned].flatMap((name) => policy.witnesses.get(name)?.name ?? [])
  return { checkpoint, cosigners, hasQuorum: isMet(policy, policy.quorum, cosigned) }
}

async function hasCosigned(note: SignedNote, { name, publicKey }: NoteKey): Promise<boolean> {
  return (await cosignedAt(note, name, publicKey)) !== undefined
}

/** Groups name only what is defined above them, so this ends. */
function isMet(policy: LogPolicy, name: string, cosigned: ReadonlySet<string>): boolean {
  if (name === 'none') return true
  const group = policy.groups.get(name)
  if (group === undefined) return cosigned.has(name)
  return group.members.filter((member) => isMet(policy, member, cosigned)).length >= group.threshold
}
