import { type DataLicensePolicy, asReceived, licensePolicyForm, verifyReceived } from '@chancery/protocol'
import { type Connection, FOLLOW_HINT, connect, signersAt } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { CommandError } from '../../errors/failure.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeLicense } from './describe.ts'
import { licenseeOf } from './licensee.ts'

/** Runs `data-usage show`: verifies the license with the genesis block, because a proxy could send another one. */
export async function runDataUsageShow(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connect(context, options)
  const { record, saved } = await saveRecord(context.cwd, options, async () => {
    const policy = await connection.ask((client) => client.dataUsage.current(licenseeOf(options)))
    await requireSignature(connection, policy)
    return policy
  })
  return { data: record, text: `${describeLicense(record, context.style)}${saved}` }
}

async function requireSignature(connection: Connection, policy: DataLicensePolicy): Promise<void> {
  const keys = signersAt(connection, policy)
  if (keys === undefined) return
  const verdict = await verifyReceived(asReceived(licensePolicyForm, policy), keys)
  if (verdict.ok) return
  throw new CommandError({
    code: 'invalid_signature',
    message: `The license from ${connection.url} is not signed by the authority of the configured genesis block.`,
    hint: `This is another network, or a proxy changed the response. Do not use it. ${FOLLOW_HINT}`,
  })
}
