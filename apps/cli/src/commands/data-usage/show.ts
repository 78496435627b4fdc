import { asReceived, licensePolicyForm, verifyReceived } from '@chancery/protocol'
import type { DataLicensePolicy } from '@chancery/protocol'
import { FOLLOW_HINT, connect, signersAt } from '../../connection.ts'
import type { Connection } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { Failure } from '../../failure.ts'
import { keepRecord } from '../../kept-record.ts'
import type { Arguments, Options } from '../../options.ts'
import { describeLicense } from './describe.ts'

/** data-usage show: whoever sits on the line can serve any license, so it is held against the genesis block. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connect(context, options)
  const { record, kept } = await keepRecord(context.cwd, options, async () => {
    const policy = await connection.ask((client) => client.dataUsage.current())
    await requireSignature(connection, policy)
    return policy
  })
  return { data: record, text: `${describeLicense(record, context.style)}${kept}` }
}

async function requireSignature(connection: Connection, policy: DataLicensePolicy): Promise<void> {
  const keys = signersAt(connection, policy)
  if (keys === undefined) return
  const verdict = await verifyReceived(asReceived(licensePolicyForm, policy), keys)
  if (verdict.ok) return
  throw new Failure({
    code: 'invalid_signature',
    message: `The license from ${connection.url} is not signed by the authority of the configured genesis block.`,
    hint: `Either this is another network, or somebody changed the answer. Do not use it. ${FOLLOW_HINT}`,
  })
}
