import type { DatabaseSync } from 'node:sqlite'
import { type JsonObject, sha256Hex } from '@chancery/protocol'
import { type Finding, type SettingsResult, requireValues, systemClock, systemIds } from '@chancery/service-kit'
import { ConfigurationError } from '../policy/load-files.ts'
import { loadConfiguration } from '../policy/load-configuration.ts'
import type { Policy } from '../policy/policy.ts'
import { type GatewaySettings, readGatewaySettings } from '../settings/gateway-settings.ts'
import { acquireFileLock } from '../state/file-lock.ts'
import { inTransaction, openStateFile, readState } from '../state/state-file.ts'
import { StateError, readStateValues } from '../state/state-values.ts'
import { verifyState } from '../state/verify-state.ts'
import { createHash, randomBytes } from 'node:crypto'
import { TOKEN_BYTES } from '../auth/access.ts'
import { KEYS_ROW, readCheckpoints, releaseWithdrawn, setSuspect } from '../state/checkpoints.ts'
import { appendEvents } from '../state/audit-log.ts'
import { operatorEvent } from '../audit/request-audit.ts'
import { readFile } from 'node:fs/promises'
import { type CheckReport, checkConfiguration } from './check-configuration.ts'
import { diagnose } from './doctor/diagnose.ts'
import { initializeState } from './initialize-state.ts'

/** Result of a command, for programs and for people. */
export interface ToolResult {
  readonly data: JsonObject
  readonly text: string
  readonly exitCode: 0 | 1
}

/** A command has an invalid input. */
export class ToolError extends Error {
  override readonly name = 'ToolError'
}

/** Ids and times of events, as in the running gateway. */
export const TOOLS = { clock: systemClock, ids: systemIds }

export function done(data: JsonObject, text: string): ToolResult {
  return { data, text, exitCode: 0 }
}

/** Changes the state of a stopped gateway: locks it and verifies all of it first. */
export async function changeState<Value>(
  settings: GatewaySettings,
  change: (db: DatabaseSync) => Promise<Value> | Value,
): Promise<Value> {
  const file = stateFileOf(settings)
  const ownership = acquireFileLock(file)
  try {
    const db = openStateFile({ file, isReadOnly: false, maxBytes: settings.stateMaxBytes })
    try {
      verifyState(db)
      return await change(db)
    } finally {
      db.close()
    }
  } finally {
    ownership.release()
  }
}

export function stateFileOf({ stateFile }: GatewaySettings): string {
  if (stateFile === undefined) throw new StateError('is required')
  return stateFile
}

export function policyOf(settings: GatewaySettings): Policy {
  const { configuration, problems } = loadConfiguration(settings, systemClock.now())
  if (configuration === undefined) throw new ConfigurationError(problems)
  return configuration.policy
}

/**
 * `token new`: creates 256 random bits with a prefix and a checksum, so that scanners and people detect a mistyped
 * token.
 */
export function newToken(): ToolResult {
  const head = `gw1_${randomBytes(32).toString('base64url')}`
  const token = `${head}_${createHash('sha256').update(head).digest().subarray(0, 4).toString('base64url')}`
  const token_sha256 = digest(token)
  return done({ token, token_sha256 }, `${token}\n${token_sha256}`)
}

/** `token digest`: prints the digest that the policy stores for a token. */
export function tokenDigest(token: string): ToolResult {
  if (token.length < TOKEN_BYTES.min || token.length > TOKEN_BYTES.max || !/^[!-~]+$/.test(token)) {
    return { data: {}, text: 'A token has 32 to 1024 bytes of visible ASCII.', exitCode: 1 }
  }
  const token_sha256 = digest(token)
  return done({ token_sha256 }, token_sha256)
}

function digest(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/** Minimum list sequences, to be saved outside the gateway (protocol/gateway 18.5). */
export interface Floor {
  readonly network: string
  readonly issuer: string
  readonly sequence: number
  readonly issued_at: string
  readonly body_sha256: string
  readonly suspect: boolean
}

export function floorsOf(db: DatabaseSync): readonly Floor[] {
  const lists = readCheckpoints(db).filter(({ issuer }) => issuer !== KEYS_ROW)
  return lists.map(({ network, issuer, sequence, issued_at, body, suspect }) => {
    return { network, issuer, sequence, issued_at, body_sha256: sha256Hex(body), suspect }
  })
}

/** `state floors`: prints the minimum list sequences. */
export async function floors(settings: GatewaySettings): Promise<ToolResult> {
  const data = readState(stateFileOf(settings), settings, (db): JsonObject => {
    const { head_sequence, head_hash } = readStateValues(db)
    return { floors: floorsOf(db).map((floor) => ({ ...floor })), audit: { sequence: head_sequence, hash: head_hash } }
  })
  return done(data, JSON.stringify(data, undefined, 2))
}

export interface OverrideArguments {
  readonly network: string
  readonly issuer: string
  /** Stored in the audit, so that the override can be reviewed later. */
  readonly reason: string
}

/** `state clear-suspect`: clears the mark after an operator has checked the two lists of an authority. */
export async function clearSuspect(settings: GatewaySettings, args: OverrideArguments): Promise<ToolResult> {
  const { network, issuer, reason } = args
  await changeState(settings, (db) =>
    inTransaction(db, () => {
      if (!setSuspect(db, network, issuer, false)) throw new StateError('there is no checkpoint of this issuer')
      appendEvents(db, [operatorEvent('suspect_cleared', { network, issuer, reason }, TOOLS)])
    }),
  )
  return done({ network, issuer }, `The issuer ${issuer} of ${network} is no longer suspect.`)
}

/** `state release-revocation`: accepts a certificate again that a later list no longer names. */
export async function releaseRevocation(
  settings: GatewaySettings,
  args: OverrideArguments & { readonly certificateId: string },
): Promise<ToolResult> {
  const { network, issuer, reason, certificateId } = args
  await changeState(settings, (db) =>
    inTransaction(db, () => {
      if (!releaseWithdrawn(db, network, issuer, certificateId)) {
        throw new StateError('this certificate is not a withdrawn revocation; the current list cannot be overridden')
      }
      const facts = { network, issuer, certificate_digest: sha256Hex(certificateId), reason }
      appendEvents(db, [operatorEvent('revocation_released', facts, TOOLS)])
    }),
  )
  return done({ network, issuer }, 'The revocation was released.')
}

/** Runs `--check-config --online` on the files of a gateway, or on a draft of its policy. Prints nothing. */
export async function checkFiles(envFile: string, draftPolicy?: string): Promise<CheckReport> {
  const read = await readFileSettings(envFile)
  const { values } = read
  const checked =
    values === undefined || draftPolicy === undefined
      ? read
      : { ...read, values: { ...values, policyFile: draftPolicy } }
  return checkConfiguration(checked, { online: true, clock: systemClock })
}

/** Runs `--init-state` without printing: creates the state that the settings file names. */
export async function createState(envFile: string): Promise<void> {
  await initializeState(requireValues(await readFileSettings(envFile)), TOOLS)
}

/** Runs `gateway doctor` on the files alone. */
export async function diagnoseFiles(envFile: string): Promise<readonly Finding[]> {
  return diagnose(await readFileSettings(envFile), { offline: true })
}

/** Reads the file only. A variable of the shell must not change which files are created or checked. */
async function readFileSettings(envFile: string): Promise<SettingsResult<GatewaySettings>> {
  const text = await readFile(envFile, 'utf8')
  return readGatewaySettings({ flags: {}, env: {}, envFile: { path: envFile, text } })
}
