import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { genesisDigest, readGenesisBlock, readJson } from '@chancery/protocol'
import { StartError, createLog } from '@chancery/service-kit'
import { KeySuccessionError } from '../features/crl/index.ts'
import { openSuccession, readSettingsOrExplain, retireLine } from './key-succession.ts'
import type { CommandArguments, OpenSuccession } from './key-succession.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'
import { KeyUnavailableError } from '../signing/vault-signer.ts'
import { CACHED_MS, findSuccession } from '../signing/newest-block.ts'
import type { SignedDocuments } from '../signing/stored-identity.ts'
import type { AppParts } from '../startup/open-core.ts'
import { type AskGateways, describeFollowers } from './rotation-followers.ts'

export interface RotateArguments extends CommandArguments {
  /** What the root signed for the next key. Given once; after the announcement the database has it. */
  readonly next?: { readonly keyId: string; readonly genesisFile: string; readonly historyFile: string }
  /** Switches although some nodes or gateways do not follow. */
  readonly isForced?: boolean
  readonly askGateways?: AskGateways
  readonly confirm: (question: string) => Promise<boolean>
}

export interface RotationTools {
  readonly print: (line: string) => void
  readonly confirm: RotateArguments['confirm']
}

/** Drives a succession from the settings in use: each run goes on from the step that the database is at. */
export async function rotateKey(args: RotateArguments): Promise<number> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return 1
  const print = (line: string): void => void process.stdout.write(`${line}\n`)
  try {
    const parts = { log: createLog({ level: 'error', format: 'text' }) }
    return await runRotation(settings, args, { parts, print, confirm: args.confirm })
  } catch (error) {
    const isKnown =
      error instanceof KeySuccessionError || error instanceof StartError || error instanceof KeyUnavailableError
    if (!isKnown) throw error
    process.stderr.write(`chancery: this step was not made: ${error.message}\n`)
    return 1
  }
}

export async function runRotation(
  settings: AuthoritySettings,
  {
    next,
    isForced = false,
    askGateways = () => Promise.resolve([]),
  }: Omit<RotateArguments, 'confirm' | keyof CommandArguments>,
  { parts, print, confirm }: RotationTools & { readonly parts: AppParts },
): Promise<number> {
  const given = next === undefined ? undefined : await readDocuments(next)
  const opened = await openSuccession(settings, parts, async (db) => {
    const stored = await findSuccession(db)
    if (given !== undefined && stored?.genesis_digest !== digestOf(given)) return given
    return stored?.phase === 'announced' ? stored : undefined
  })
  const step = { opened, isForced, askGateways, settingsKeyId: settings.keyId, print, ask: confirm }
  try {
    const stored = await findSuccession(opened.core.database.read)
    if (given !== undefined && stored?.genesis_digest !== digestOf(given)) await announce(step)
    return await goOn(step)
  } finally {
    await opened.close()
  }
}

interface Step {
  readonly opened: OpenSuccession
  readonly isForced: boolean
  readonly askGateways: AskGateways
  readonly settingsKeyId: string
  readonly print: RotationTools['print']
  readonly ask: (question: string) => Promise<boolean>
}

async function announce({ opened, print }: Step): Promise<void> {
  const { keyId } = await opened.keySuccession.announceKey()
  // Every instance serves the announcement, and has looked for the key.
  await pause(2 * CACHED_MS)
  print(`Step 1 of 4: ${keyId} is announced. Nodes and gateways follow by themselves.`)
}

async function goOn(step: Step): Promise<number> {
  const { opened, print } = step
  const progress = await opened.keySuccession.describeSuccession({ isFull: true })
  if (progress.phase === 'announced') return toSwitch(step)
  if (progress.phase === 'switched') return retire(step)
  print(
    'No succession is under way. Make a key next to the present one, named KEY-ID.key, let the root key sign it, and',
  )
  print(
    'give both documents: chancery authority rotate-key --next-key-id KEY-ID --next-genesis FILE --next-history FILE',
  )
  return 0
}

async function toSwitch(step: Step): Promise<number> {
  const { opened, isForced, askGateways, print, ask } = step
  const { core, keySuccession } = opened
  const { keyId } = core.signing
  const { lines, areAll, canSwitch } = await describeFollowers(opened, askGateways)
  print(`Step 2 of 4: who has the block of ${keyId}`)
  for (const line of lines) print(`  ${line}`)
  if (!canSwitch || (!areAll && !isForced)) {
    print('Nothing is switched. Run this command again later, or with --force to leave out those that do not follow.')
    print('To undo the announcement, let the root key sign a block of the present key: docs/operate/keys.md.')
    return 0
  }
  print('Step 3 of 4: the switch. Sequences do not go back: to undo it is another succession, to the former key.')
  if (!(await ask(`Switch to ${keyId} now?`))) return stopped(print)
  const done = await keySuccession.switchLive({ isForced: true })
  print(
    done === undefined
      ? `${keyId} has taken over before.`
      : `${keyId} has taken over from ${done.formerKeyId}: revocation list ${done.sequence}. All instances sign with it.`,
  )
  print(`Write ${keyId}, its block and history to the settings before the former key is destroyed.`)
  return 0
}

async function retire(step: Step): Promise<number> {
  const { opened, print, ask } = step
  const progress = await opened.keySuccession.describeSuccession({ isFull: true })
  const used = progress.former_certificates ?? 0
  print(`Step 4 of 4: ${used} certificates of ${progress.former_key_id ?? 'the former key'} are in use.`)
  if (used > 0) {
    print('Run this command again when nodes have renewed them.')
    return 0
  }
  if (!(await ask('Retire the former key? This cannot be undone.'))) return stopped(print)
  const retired = await opened.keySuccession.retireKey({ isForced: false })
  if (retired !== step.settingsKeyId) print(retireLine(retired))
  else {
    const { keyId } = opened.core.signing
    print(`${retired} is retired, and these settings still name it: an instance that starts with them needs its key.`)
    print(`Write ${keyId}, its block and history to the settings of all instances. Then destroy ${retired}.`)
  }
  return 0
}

function stopped(print: Step['print']): number {
  print('Stopped. Nothing was changed by this step; run the command again to go on.')
  return 0
}

async function readDocuments({
  keyId,
  genesisFile,
  historyFile,
}: NonNullable<RotateArguments['next']>): Promise<SignedDocuments> {
  const read = async (path: string): Promise<string> => {
    try {
      return (await readFile(path, 'utf8')).trim()
    } catch (error) {
      throw new StartError(`${path} cannot be read`, { cause: error })
    }
  }
  return { key_id: keyId, genesis_json: await read(genesisFile), history_json: await read(historyFile) }
}

function digestOf({ genesis_json }: SignedDocuments): string {
  return genesisDigest(readGenesisBlock(readJson(genesis_json)))
}
