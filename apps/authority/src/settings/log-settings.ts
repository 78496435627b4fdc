import { isNoteName, readWitnessKey } from '@chancery/protocol'
import { type Reader, SettingError, type SettingValues, integer, oneOf, setting, text } from '@chancery/service-kit'
import { rootsOfFile } from './partner-settings.ts'
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

const witnesses: Reader<readonly LogWitness[]> = (value) => {
  const entries = splitList(value).map(readWitness)
  if (entries.length > MAX_WITNESSES) throw new SettingError(`must not have more than ${MAX_WITNESSES} witnesses`)
  for (const member of ['name', 'publicKey'] as const)
    if (new Set(entries.map((each) => each[member])).size !== entries.length)
      throw new SettingError('must not name a witness or a key twice')
  return entries
}

function readWitness(entry: string): LogWitness {
  const [verifierKey = '', url = '', ...rest] = entry.split(/ +/)
  const key = readWitnessKey(verifierKey)
  const isUrl = URL.canParse(url) && /^https?:/.test(url)
  const { username, password, search, hash } = isUrl
    ? new URL(url)
    : { username: 'x', password: '', search: '', hash: '' }
  if (key === undefined || rest.length > 0 || `${username}${password}${search}${hash}` !== '')
    throw new SettingError('must be a comma list of a verifier key of type 4, a space and an http or https URL')
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
  logKeyFile: setting({
    name: 'NA_LOG_PRIVATE_KEY_FILE',
    help: 'Private key file of the log, which signs its checkpoints in addition to the key of the authority.',
    read: text,
  }),
  formerLogKeyFile: setting({
    name: 'NA_LOG_FORMER_PRIVATE_KEY_FILE',
    help: 'Private key file of the former log key, which signs too until every witness has the new one.',
    read: text,
  }),
  logWitnesses: setting({
    name: 'NA_LOG_WITNESSES',
    help: 'Comma list of witnesses of the log: verifier key, space, URL. Each is asked to cosign the checkpoints.',
    read: witnesses,
    default: [],
    defaultText: 'none',
  }),
  logQuorum: setting({
    name: 'NA_LOG_WITNESS_QUORUM',
    help: 'Number of witnesses that must cosign. Below it the log reports that it is not witnessed.',
    read: integer({ min: 0, max: MAX_WITNESSES }),
    defaultText: 'all witnesses',
  }),
  logWitnessSeconds: setting({
    name: 'NA_LOG_WITNESS_SECONDS',
    help: 'Seconds between two rounds in which witnesses are asked.',
    read: integer({ min: 1, max: 86_400 }),
    default: 10,
  }),
  logWitnessRoots: setting({
    name: 'NA_LOG_WITNESS_CA_FILE',
    help: 'PEM file with root certificates for the TLS of witnesses, in addition to those of the system.',
    read: rootsOfFile,
    default: [],
    defaultText: 'roots of the system',
  }),
} as const

type LogSettings = SettingValues<typeof LOG_SETTINGS>

/** The quorum of the witnesses, with the problems between these settings. */
export function chooseQuorum({
  logWitnesses,
  logQuorum = logWitnesses.length,
  logKeyFile,
  formerLogKeyFile,
}: LogSettings): {
  readonly logQuorum: number
  readonly problems: readonly string[]
} {
  const problems: string[] = []
  if (logQuorum > logWitnesses.length)
    problems.push('NA_LOG_WITNESS_QUORUM: is larger than the number of NA_LOG_WITNESSES')
  if (formerLogKeyFile !== undefined && logKeyFile === undefined)
    problems.push('NA_LOG_PRIVATE_KEY_FILE: is required with NA_LOG_FORMER_PRIVATE_KEY_FILE')
  return { logQuorum, problems }
}
