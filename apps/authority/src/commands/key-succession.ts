import { writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { StartError, createLog, readProcessSettings } from '@chancery/service-kit'
import type { SettingSources, SettingsResult } from '@chancery/service-kit'
import { openConnectome } from '../features/connectome/index.ts'
import { type Crl, FIRST_LIST_HOURS, KeySuccessionError, openCrl } from '../features/crl/index.ts'
import { openEvidenceLog } from '../features/evidence-log/index.ts'
import { openEvidence } from '../features/evidence/index.ts'
import { firstListKeys, nextStep, openKeySuccession } from '../features/key-succession/index.ts'
import type { KeySuccession, SuccessionProgress } from '../features/key-succession/index.ts'
import { openPolicy } from '../features/policy/index.ts'
import { openRecognitionTreaties } from '../features/recognition-treaties/index.ts'
import { openRevocationFeeds } from '../features/revocation-feeds/index.ts'
import { PublishedDocuments } from '../requests/published-documents.ts'
import type { Core } from '../core.ts'
import { type AppParts, type CoreOptions, openCore } from '../startup/open-core.ts'
import { type AuthoritySettings, readAuthoritySettings } from '../settings/authority-settings.ts'
import { KeyUnavailableError } from '../signing/vault-signer.ts'
import { CACHED_MS } from '../signing/newest-block.ts'
import { MigrationFailedError, NewerSchemaError, OldSchemaError } from '../database/migrate.ts'
import { UnfinishedCopyError } from '../database/copy/unfinished-copy.ts'

/** Arguments of a command on the authority's own machine. */
export interface CommandArguments {
  /** Command-line flags with their dashes. */
  readonly flags: Readonly<Record<string, string | readonly string[]>>
  readonly envFile?: string
}

/** Reads settings. Prints every problem and returns undefined when there are any. */
export async function readOrReport<Settings>(
  args: CommandArguments,
  read: (sources: SettingSources) => SettingsResult<Settings>,
): Promise<Settings | undefined> {
  const { values, problems } = await readProcessSettings(args, read)
  explain(problems)
  return values
}

export function readSettingsOrExplain(args: CommandArguments): Promise<AuthoritySettings | undefined> {
  return readOrReport(args, readAuthoritySettings)
}

/** True for an error that an operator can fix, as its message describes. */
export function isOperatorError(error: unknown): error is Error {
  return [
    StartError,
    KeyUnavailableError,
    NewerSchemaError,
    OldSchemaError,
    MigrationFailedError,
    UnfinishedCopyError,
  ].some((kind) => error instanceof kind)
}

/** Prints one line per problem, each naming the setting to fix. */
export function explain(problems: readonly string[]): void {
  for (const problem of problems) process.stderr.write(`chancery: the authority does not start: ${problem}\n`)
}

export type SuccessionStep = 'announce' | 'status' | 'switch' | 'retire'

export interface SuccessionArguments extends CommandArguments {
  /** Writes only the first list of the new key to this new file. The database does not change. */
  readonly firstList?: string
  /** The switch when not given. */
  readonly step?: SuccessionStep
  /** Continues although nodes lack the new block, or certificates of the former key are in use. */
  readonly isForced?: boolean
}

/** Runs one step of a key succession, with the settings of the new key. */
export async function keySuccession(args: SuccessionArguments): Promise<number> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return 1
  try {
    const log = createLog({ level: 'error', format: 'text' })
    const lines = await runSuccessionStep(settings, args, { log })
    // When the command ends, every instance serves the announcement, so the next command may rely on it.
    if (args.step === 'announce') await pause(CACHED_MS)
    process.stdout.write(`${lines.join('\n')}\n`)
    return 0
  } catch (error) {
    const isKnown =
      error instanceof KeySuccessionError || error instanceof StartError || error instanceof KeyUnavailableError
    if (!isKnown) throw error
    process.stderr.write(`chancery: nothing was changed: ${error.message}\n`)
    return 1
  }
}

/** Runs one step on the database of these settings. Returns the report for the operator. */
export async function runSuccessionStep(
  settings: AuthoritySettings,
  args: Omit<SuccessionArguments, keyof CommandArguments>,
  parts: AppParts,
): Promise<readonly string[]> {
  const opened = await openSuccession(settings, parts)
  try {
    return await runStep({ ...opened.core, ...opened }, args)
  } finally {
    await opened.close()
  }
}

export interface OpenSuccession {
  readonly core: Core
  readonly crl: Crl
  readonly keySuccession: KeySuccession
  close(): Promise<void>
}

/** Opens the features of a succession. `succeedTo` gives the next key where the settings name the present one. */
export async function openSuccession(
  settings: AuthoritySettings,
  parts: AppParts,
  succeedTo?: CoreOptions['succeedTo'],
): Promise<OpenSuccession> {
  const opened = await openCore(settings, {
    ...parts,
    isSucceeding: true,
    ...(succeedTo === undefined ? {} : { succeedTo }),
  })
  const shared = { ...opened.core, settings, publishedDocuments: new PublishedDocuments() }
  const evidence = openEvidence(shared)
  const evidenceLog = openEvidenceLog({ ...shared, evidence })
  const connectome = openConnectome(shared)
  const crl = openCrl(shared)
  const policy = openPolicy(shared)
  const recognitionTreaties = openRecognitionTreaties({ ...shared, connectome })
  const revocationFeeds = openRevocationFeeds({ ...shared, recognitionTreaties })
  const succession = openKeySuccession({ ...shared, crl, evidenceLog, policy, revocationFeeds })
  const features = [evidence, evidenceLog, connectome, crl, policy, recognitionTreaties, revocationFeeds, succession]
  return {
    core: opened.core,
    crl,
    keySuccession: succession,
    async close() {
      for (const feature of features.toReversed()) await feature.close()
      await opened.close()
    },
  }
}

interface StepParts extends Pick<Core, 'signing' | 'keys'> {
  readonly crl: Crl
  readonly keySuccession: KeySuccession
}

async function runStep(
  parts: StepParts,
  args: Omit<SuccessionArguments, keyof CommandArguments>,
): Promise<readonly string[]> {
  const { firstList, step = 'switch', isForced = false } = args
  if (firstList !== undefined) {
    await writeFile(firstList, `${await parts.crl.draftFirstList(firstListKeys(parts))}\n`, { flag: 'wx', mode: 0o644 })
    return [`the first list of ${parts.signing.keyId}, to pin it with within ${FIRST_LIST_HOURS} hours`]
  }
  if (step === 'announce') return announceLines(parts)
  if (step === 'status') return statusLines(await parts.keySuccession.describeSuccession({ isFull: true }))
  if (step === 'retire') {
    return [retireLine(await parts.keySuccession.retireKey({ isForced }))]
  }
  const done = await parts.keySuccession.switchKey({ isForced })
  if (done === undefined)
    return [`${parts.signing.keyId} has taken over before`, 'start all instances with these settings']
  const { formerKeyId, sequence, listsUntil } = done
  return [
    `${parts.signing.keyId} has taken over from ${formerKeyId}: revocation list ${sequence}`,
    `${formerKeyId} signs its own list until ${listsUntil}, or until --step retire; after that destroy it`,
    'start all instances with these settings',
  ]
}

export function retireLine(retired: string | undefined): string {
  return `${retired ?? 'the former key'} is retired: take it out of the settings and destroy it`
}

async function announceLines(parts: StepParts): Promise<readonly string[]> {
  const { keyId, digest, needsSwitch } = await parts.keySuccession.announceKey()
  const told = `${keyId} is announced with the block sha256:${digest}; nodes take it up with their next heartbeats`
  if (!needsSwitch) return [told, 'the database belongs to this key: start all instances with these settings']
  return [told, `the first list for gateways is good for ${FIRST_LIST_HOURS} hours: announce again to renew it`]
}

function statusLines(progress: SuccessionProgress): readonly string[] {
  const { phase, key_id, announced_at, switched_at, nodes, nodes_with_new_block, former_key_id } = progress
  if (phase === 'none') return ['no succession is under way']
  const next = nextStep(progress)
  return [
    `phase ${phase}${key_id === null ? '' : `, key ${key_id}`}`,
    ...(announced_at === null ? [] : [`announced ${announced_at}`]),
    ...(switched_at === null ? [] : [`switched ${switched_at}`]),
    ...(progress.switch_by === null ? [] : [`switch before ${progress.switch_by}`]),
    `${nodes_with_new_block} of ${nodes} nodes have the new block`,
    ...(former_key_id === null
      ? []
      : [`${former_key_id} signs its own list; ${progress.former_certificates ?? 0} certificates of it are in use`]),
    ...(next === null ? [] : [`next: ${next}`]),
  ]
}
