import { Fleet } from './fleet.ts'
import type { FleetCall } from './generator.ts'

let fleet: Fleet | undefined

process.on('message', ({ id, call }: { readonly id: number; readonly call: FleetCall }) => {
  void answer(call).then(
    (value) => process.send?.({ id, value }),
    (error: unknown) => process.send?.({ id, problem: String(error) }),
  )
})
process.once('disconnect', () => process.exit(0))

async function answer(call: FleetCall): Promise<unknown> {
  if (call.kind === 'start') {
    fleet = await Fleet.open(call.task)
    return null
  }
  if (fleet === undefined) throw new Error('not started')
  switch (call.kind) {
    case 'sample':
      return fleet.sample(call.count)
    case 'hold':
      return fleet.hold()
    case 'revoked':
      fleet.noteRevoked(call.node, call.atMs)
      return null
    case 'joined':
      fleet.addJoined(call.node, call.cert_id)
      return null
    case 'report':
      return fleet.report()
    case 'stop':
      return fleet.stop()
  }
}
