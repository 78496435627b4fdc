import { writeInstant, writePublicKeyFile } from '@chancery/protocol'
import { createLog, runService } from '@chancery/service-kit'
import { startAuthority } from './app.ts'
import { StartRefused, loadGenesis } from './genesis.ts'
import { openOffice } from './open-office.ts'
import { inspectDatabase } from './features/recovery/inspect.ts'
import { NothingToRecover, recoverState } from './features/recovery/recover.ts'
import { readAuthoritySettings, readKeySource } from './settings.ts'
import { openSigner } from './signing/key-providers.ts'
import { KeyUnavailable } from './signing/key-unavailable.ts'
import { explain, readOrExplain } from './start-arguments.ts'
import type { StartArguments } from './start-arguments.ts'
import { NewerSchema } from './store/migrate.ts'
import { openStore, translateStoreError } from './store/open.ts'

/** Runs an authority in the foreground until a signal; gives the exit code. */
export async function start(args: StartArguments): Promise<number> {
  const settings = await readOrExplain(args, readAuthoritySettings)
  if (settings === undefined) return 1
  const format = settings.logFormat ?? (process.stdout.isTTY ? 'text' : 'json')
  const log = createLog({ level: settings.logLevel, format })
  return runService({
    log,
    drainSeconds: settings.drainSeconds,
    start: async () => {
      try {
        return await startAuthority(settings, { log })
      } catch (error) {
        if (isExpected(error)) explain([error.message])
        throw error
      }
    },
  })
}

/** Brings a restored database past its high-water mark; no instance has to stop for it, none serves meanwhile. */
export async function recover(args: StartArguments): Promise<number> {
  const settings = await readOrExplain(args, readAuthoritySettings)
  if (settings === undefined) return 1
  const log = createLog({ level: 'error', format: 'text' })
  try {
    const opened = await openOffice(settings, { log, isRecovering: true })
    try {
      const { crlSequence, feedSequence, revocations, replayFloor } = await recoverState(opened.office)
      const lines = [
        `recovered: ${revocations} withdrawals came back`,
        `revocation list ${crlSequence ?? 'none'}, feed ${feedSequence ?? 'none'}`,
        `signed requests dated up to ${writeInstant(replayFloor)} are refused; unspent invites have ended`,
        ...(opened.office.rollbackWatch.isEvidenceBehind ? ['evidence is missing: its store stays closed'] : []),
      ]
      process.stdout.write(`${lines.join('\n')}\n`)
      return 0
    } finally {
      await opened.close()
    }
  } catch (error) {
    if (!isExpected(error) && !(error instanceof NothingToRecover)) throw error
    process.stderr.write(`chancery: nothing was recovered: ${error.message}\n`)
    return 1
  }
}

/** Looks at everything the database holds and changes nothing: 0 when all is in order, 1 when something is not. */
export async function verifyDatabase(args: StartArguments): Promise<number> {
  const settings = await readOrExplain(args, readAuthoritySettings)
  if (settings === undefined) return 1
  const { block: genesis } = await loadGenesis(settings.genesisFile)
  const store = openStore(settings.storePlace)
  try {
    const { counts, problems } = await inspectDatabase(store.db, genesis.network_authority.public_key)
    for (const problem of problems) process.stderr.write(`${problem}\n`)
    const looked = Object.entries(counts).map(([kind, count]) => `${kind} ${count}`)
    process.stdout.write(`looked at ${looked.join(', ')}: ${problems.length} problems\n`)
    return problems.length > 0 ? 1 : 0
  } catch (error) {
    if (translateStoreError(error) === undefined) throw error
    process.stderr.write('chancery: the database cannot be read\n')
    return 1
  } finally {
    await store.close()
  }
}

/** Prints the public key that the settings name, as a .pub file: what a genesis block is made from. */
export async function publicKey(args: StartArguments): Promise<number> {
  const source = await readOrExplain(args, readKeySource)
  if (source === undefined) return 1
  try {
    const { publicKey: key } = await openSigner(source, 'unused', createLog({ level: 'error', format: 'text' }))
    process.stdout.write(writePublicKeyFile(key))
    return 0
  } catch (error) {
    if (!(error instanceof KeyUnavailable)) throw error
    process.stderr.write(`chancery: no key: ${error.message}\n`)
    return 1
  }
}

function isExpected(error: unknown): error is Error {
  return error instanceof StartRefused || error instanceof KeyUnavailable || error instanceof NewerSchema
}
