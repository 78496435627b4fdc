import { readAttestation } from '../artifacts/attestation.ts'
import { readCrl } from '../artifacts/crl.ts'
import { type GenesisBlock, readGenesisBlock } from '../artifacts/genesis-block.ts'
import { readJoinCertificate } from '../artifacts/join-certificate.ts'
import { type KeyHistory, readKeyHistory } from '../artifacts/key-history.ts'
import { readRecognitionTreaty } from '../artifacts/recognition-treaty.ts'
import { readRevocationFeed } from '../artifacts/revocation-feed.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import type { JsonObject, JsonValue } from '../canonical/utf8.ts'
import { arrayOf, closed, integer, nullable, oneOf, required } from '../reading/shape.ts'
import type { Read } from '../reading/schema.ts'
import { asJson } from '../signing/verify-any.ts'
import type { HistoryPage } from './pages.ts'
import { MAX_STANDINGS, readTrustHistory } from './trust-history.ts'

const TRUST_HISTORY_FORMAT = 'chancery.trust-history'
const TRUST_HISTORY_VERSION = 1

/** The written form of a page: with the key records of its authority in place of trusted keys. */
export interface TrustHistoryPage extends Omit<HistoryPage, 'keys'> {
  readonly genesis: GenesisBlock
  readonly key_history: KeyHistory | null
}

const records = <Value>(read: (value: JsonValue) => Value, max: number): { readonly read: Read<readonly Value[]> } =>
  required(arrayOf((value: JsonValue) => read(value), { max }))

/** Most lists, and most feeds, of one page: the one in force and the one that named the record first. */
const MAX_LISTS = 4

export const trustHistoryPageShape: Read<TrustHistoryPage & { readonly format: string; readonly version: number }> =
  /* @__PURE__ */ closed({
    format: required(oneOf(TRUST_HISTORY_FORMAT)),
    version: required(integer(TRUST_HISTORY_VERSION, TRUST_HISTORY_VERSION)),
    genesis: required((value: JsonValue) => readGenesisBlock(value)),
    key_history: required(nullable((value: JsonValue) => readKeyHistory(value))),
    history: required((value: JsonValue) => readTrustHistory(value)),
    certificates: records(readJoinCertificate, MAX_STANDINGS),
    attestations: records(readAttestation, MAX_STANDINGS),
    treaties: records(readRecognitionTreaty, MAX_STANDINGS),
    lists: records(readCrl, MAX_LISTS),
    feeds: records(readRevocationFeed, MAX_LISTS),
  })

/** Reads the form of a page. Nothing is verified here. Throws a FormError. */
export function readTrustHistoryPage(value: JsonValue): TrustHistoryPage {
  const { format: _format, version: _version, ...page } = trustHistoryPageShape(value, '')
  return page
}

export function trustHistoryJson(page: TrustHistoryPage): JsonObject {
  return asJson({ ...page, format: TRUST_HISTORY_FORMAT, version: TRUST_HISTORY_VERSION })
}

/** One line of a file, with its line feed. */
export function writeTrustHistoryPage(page: TrustHistoryPage): string {
  return `${canonicalJson(trustHistoryJson(page))}\n`
}
