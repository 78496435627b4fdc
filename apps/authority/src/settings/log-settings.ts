import { isNoteName, readWitnessKey } from '@chancery/protocol'
import { type Reader, SettingError, integer, oneOf, setting } from '@chancery/service-kit'
import { splitList } from './readers.ts'

const MAX_WITNESSES = 16
const MAX_ORIGIN_LENGTH = 256

/** A witness of the evidence log: its verifier key, and the URL below which it is asked. */
export interface LogWitness {
  readonly name: string
  readonly publicKey: string
  readonly verifierKey: string
  readonly url: string
}

const origin: Reader<string> = (value) => {
  const isUrl = /^[A-Za-z0-9._~%:/-]+$/.test(value) && !value.includes('//')
  if (!isUrl || !isNoteName(value) || value.length > MAX_ORIGIN_LENGTH)
    throw new SettingError('must be a URL without scheme, such as na.example.org/evidence-log')
  return value
}

export interface LogWitnesses {
  readonly witnesses: readonly LogWitness[]
  /** How many of them must cosign. */
  readonly quorum: number
}

const witnesses: Reader<LogWitnesses> = (value) => {
  const [, asked, rest = value] = /^ *(\d{1,2}) of (.*)$/.exec(value) ?? []
  const entries = splitList(rest).map(readWitness)
  const quorum = asked === undefined ? entries.length : Number(asked)
  if (quorum > entries.length) throw new SettingError(`must name ${quorum} witnesses or more after «${quorum} of»`)
  if (entries.length > MAX_WITNESSES) throw new SettingError(`must not have more than ${MAX_WITNESSES} witnesses`)
  for (const member of ['name', 'publicKey'] as const)
    if (new Set(entries.map((each) => each[member])).size !== entries.length)
      throw new SettingError('must not name a witness or a key twice')
  return { witnesses: entries, quorum }
}

const keyFiles: Reader<readonly string[]> = (value) => {
  const files = splitList(value)
  if (files.length === 0 || files.length > 2)
    throw new SettingError('must be one file, or the current and the former one')
  return files
}

function readWitness(entry: string): LogWitness {
  const [verifierKey = '', url = '', ...rest] = entry.split(/ +/)
  const key = readWitnessKey(verifierKey)
  const isUrl = URL.canParse(url) && /^https?:/.test(url)
  const { username, password, search, hash } = isUrl
    ? new URL(url)
    : { username: 'x', password: '', search: '', hash: '' }
  if (key === undefined || rest.length > 0 || `${username}${password}${search}${hash}` !== '')
    throw new SettingError(
      'must be a comma list of a verifier key of type 4, a space and an http or https URL; «2 of» may be in front',
    )
  return { ...key, verifierKey, url: url.replace(/\/+$/, '') }
}

/** Settings of the evidence store, its public log and the witnesses of the log (protocol/witnesses). */
export const LOG_SETTINGS = {
  evidenceRejections: setting({
    name: 'NA_EVIDENCE_REJECTIONS',
    help: 'entries stores refused evidence in the chain. table stores it in a separate table, for verifiers without support for such entries.',
    read: oneOf('entries', 'table'),
    default: 'entries',
  }),
  anchorIntervalSeconds: setting({
    name: 'NA_ANCHOR_INTERVAL_SECONDS',
    help: 'Interval of automatic evidence anchors, in seconds; 0: on request only.',
    read: integer({ min: 0, max: 31_536_000 }),
    default: 3600,
  }),
  logOrigin: setting({
    name: 'NA_LOG_ORIGIN',
    help: 'Name of the public evidence log, a URL without scheme. It cannot change after the first entry.',
    read: origin,
    defaultText: 'chancery-evidence-log/ and the network',
  }),
  logKeyFiles: setting({
    name: 'NA_LOG_PRIVATE_KEY_FILES',
    help: 'Private key file of the log, which signs its checkpoints in addition to the key of the authority. After a comma the former one, which signs too until every witness has the new one.',
    read: keyFiles,
    default: [],
    defaultText: '',
  }),
  logWitnesses: setting({
    name: 'NA_LOG_WITNESSES',
    help: 'Comma list of witnesses of the log: verifier key, space, URL. Each is asked to cosign the checkpoints. In front, «2 of» says how many must, otherwise all; below it the log reports that it is not witnessed.',
    read: witnesses,
    default: { witnesses: [], quorum: 0 },
    defaultText: 'none',
  }),
} as const
