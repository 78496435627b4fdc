import { PROXIES } from '../../instances/check-proxies.ts'
import type { Random } from '../lib/random.ts'

export type CertificateKind = 'good' | 'revoked' | 'foreign' | 'expired' | 'other-key'
type Field = readonly [string, string]

/** One request, and what the model says about it. */
export interface CheckCase {
  readonly proxy: number
  readonly method: string
  readonly target: string
  readonly body: string
  readonly headers: readonly Field[]
  readonly certificate: CertificateKind
  readonly audience: 'own' | 'other'
  readonly ageSeconds: number
  readonly signedMethod: string
  readonly signedTarget: string
  readonly signedBody: string
  readonly changeProof: (fields: readonly Field[]) => readonly Field[]
  /** It is sent twice with the same proof. */
  readonly isRepeated: boolean
  readonly mayPass: boolean
  /** Nothing about it is unusual. */
  readonly mustPass: boolean
  readonly notes: readonly string[]
}

const SAFE = ['1', 'a-b', 'x.y', 'caf%C3%A9', 'a%20b', '~', "!$&'()*+,=:@", '...', 'A1'] as const
const HOSTILE = [
  '..',
  '.',
  '',
  '%2e%2e',
  '.%2e',
  '%2E',
  'a%2fb',
  '%2F',
  'a%5cb',
  '%00',
  '%0d%0a',
  '%61',
  '%252e%252e',
  '%25',
  '..;',
  'a;b=c',
  '%3b',
  '%3f',
  '%23',
  '%c0%af',
  '%ff',
  '%ef%bc%8f',
  'e%CC%81',
  '%',
  '%zz',
] as const
const OTHER_PATHS = [
  '/admin',
  '/',
  '/jobsx/1',
  '/JOBS/1',
  '/Jobs/1',
  '/uploads/',
  '/UPLOADS',
  '/_chancery',
  '/check',
] as const
/** The check sets these headers, or a service may read them as method and path. No value of a client may count. */
const SMUGGLED: readonly [Field, ...Field[]] = [
  ['Chancery-Node', 'cert-admin'],
  ['chancery-node', 'x'],
  ['CHANCERY-ROLES', 'role:admin'],
  ['chancery_roles', 'role:admin'],
  ['chancery_node', 'cert-admin'],
  ['Chancery-Node-Key', 'AAAA'],
  ['Chancery-Decision', 'forged'],
  ['Chancery-Body-Digest', 'sha-256=:AAAA:'],
  ['X-Original-URI', '/jobs/1'],
  ['X-Original-Method', 'GET'],
  ['X-Forwarded-Uri', '/jobs/1'],
  ['X-Forwarded-Method', 'GET'],
  ['X-Forwarded-For', '127.0.0.1'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['X-Rewrite-URL', '/admin'],
  ['X-Original-URL', '/admin'],
  ['Connection', 'chancery-node'],
  ['Authorization', 'Bearer x'],
]
const FORBIDDEN = /^(?:x-http-method-override|x-rewrite-url|x-original-url)$/i

type Change = (fields: readonly Field[], random: Random) => readonly Field[]

const CHANGES: readonly [Change, ...Change[]] = [
  () => [],
  (fields, random) => fields.toSpliced(random.below(fields.length), 1),
  (fields, random) => [...fields, fields[random.below(fields.length)] ?? ['signature', '']],
  (fields, random) => {
    const at = random.below(fields.length)
    return fields.map(([name, value], index) => {
      if (index !== at) return [name, value]
      const cut = 2 + random.below(Math.max(1, value.length - 4))
      const letter = value[cut] === 'A' ? 'B' : 'A'
      return [name, value.slice(0, cut) + letter + value.slice(cut + 1)]
    })
  },
]

/** Makes a request with none, one or some malicious properties. */
export function caseOf(index: number, random: Random): CheckCase {
  const notes: string[] = []
  const spoil = (percent: number, note: string): boolean => {
    const isSpoiled = random.chance(percent)
    if (isSpoiled) notes.push(note)
    return isSpoiled
  }
  const isUpload = random.chance(25)
  const method = isUpload ? 'POST' : 'GET'
  const path = isUpload ? '/uploads' : `/jobs/${segments(random, SAFE)}`
  let target = path
  if (spoil(12, 'malicious path')) target = hostilePath(random)
  else if (spoil(4, 'other path')) target = random.pick(OTHER_PATHS)
  target = `${target}?case=${index}${random.chance(20) ? '&q=%2F..%2f;x' : ''}`
  const body = isUpload ? 'x'.repeat(random.chance(5) ? 200_000 : random.below(200)) : ''
  const certificate = spoil(10, 'certificate')
    ? random.pick(['revoked', 'foreign', 'expired', 'other-key'] as const)
    : ('good' as const)
  const audience = spoil(4, 'audience') ? 'other' : 'own'
  const ageSeconds = spoil(4, 'time') ? random.pick([75, 3600, -45, -3600] as const) : 0
  const signedTarget = spoil(5, 'another target') ? `${path}?case=${index + 1}` : target
  const signedMethod = spoil(4, 'another method') ? (isUpload ? 'GET' : 'POST') : method
  const change = spoil(8, 'changed proof') ? random.pick(CHANGES) : undefined
  const isBodyHidden = !isUpload && spoil(4, 'a signed body that is not sent')
  const mayPass = notes.length === 0
  const headers = spoil(20, 'smuggled headers') ? smuggled(random) : []
  const isForbidden = headers.some(([name]) => FORBIDDEN.test(name))
  const isRepeated = spoil(5, 'sent twice')
  return {
    proxy: random.below(PROXIES.length),
    method,
    target,
    body,
    headers,
    certificate,
    audience,
    ageSeconds,
    signedMethod,
    signedTarget,
    signedBody: isBodyHidden ? 'hidden' : body,
    // The random numbers of a case are drawn in its order, also when it is sent later.
    changeProof: changeWith(change, random.next()),
    isRepeated,
    mayPass: mayPass && !isForbidden,
    mustPass: notes.length === 0,
    notes,
  }
}

function changeWith(change: Change | undefined, seed: number): CheckCase['changeProof'] {
  if (change === undefined) return (fields) => fields
  const below = (bound: number): number => seed % bound
  const random: Random = { next: () => seed, below, chance: () => false, pick: (items) => items[0] }
  return (fields) => change(fields, random)
}

function segments(random: Random, from: readonly [string, ...string[]]): string {
  return Array.from({ length: 1 + random.below(3) }, () => random.pick(from)).join('/')
}

function hostilePath(random: Random): string {
  const [before, after] = [segments(random, SAFE), segments(random, SAFE)]
  return `/jobs/${before}/${random.pick(HOSTILE)}/${after}`
}

function smuggled(random: Random): readonly Field[] {
  return Array.from({ length: 1 + random.below(3) }, () => random.pick(SMUGGLED))
}
