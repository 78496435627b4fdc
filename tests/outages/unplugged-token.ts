import { TestToken, findTokenObstacle, startTemporaryPostgres, testSeed } from '@chancery/testkit'
import { openFaultInstances } from '../campaigns/faults/fault-instances.ts'
import { openObserved } from './observed-services.ts'
import { Opened, type Outage } from './opened.ts'

const CLOSE_SESSIONS = new URL('close-sessions.ts', import.meta.url).href

/** Both instances sign with a key in one SoftHSM token. */
export const tokenUnplugged: Outage = {
  scrapes: 24,
  open: () =>
    Opened.around(async (opened) => {
      const obstacle = findTokenObstacle()
      if (obstacle !== undefined) throw new Error(obstacle)
      const token = new TestToken()
      opened.add(async () => token.remove())
      token.import('na-known', testSeed('na'))
      const server = await startTemporaryPostgres()
      opened.add(() => server.remove())
      const instances = await openFaultInstances({
        databaseUrl: () => server.url,
        settings: {
          ...token.settings('na-known'),
          SOFTHSM2_CONF: token.configFile,
          NODE_OPTIONS: `--import ${CLOSE_SESSIONS}`,
        },
        instances: 2,
      })
      opened.add(() => instances.close())
      const observed = await openObserved(instances)
      opened.add(() => observed.close())
      return {
        targets: observed.targets,
        async begin() {
          token.unplug()
          for (const { pid } of instances.processes) process.kill(pid, 'SIGUSR2')
        },
        end: async () => token.plugIn(),
        close: () => opened.close(),
      }
    }),
}
