import { dashboard } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import type { DashboardParts, DashboardState } from './parts.ts'
import { recordActivity } from './activity.ts'
import { GrantedPatterns } from './granted-patterns.ts'
import { home } from './home.ts'
import { operator } from './operator.ts'
import { page } from './page.ts'
import { consoleFile, staticFile } from './static.ts'
import { view } from './view.ts'

export function openDashboard(given: DashboardParts): Feature {
  const parts: DashboardState = { ...given, granted: new GrantedPatterns(given) }
  return {
    routes: [
      bind(dashboard.home, (call) => home(call, parts)),
      bind(dashboard.page, (call) => page(call, parts)),
      bind(dashboard.view, (call) => view(call, parts)),
      bind(dashboard.operator, (call) => operator(call, parts)),
      bind(dashboard.operatorPage, (call) => operator(call, parts)),
      bind(dashboard.faviconIco, (call) => staticFile(call, parts)),
      bind(dashboard.faviconSvg, (call) => staticFile(call, parts)),
      bind(dashboard.consoleStyles, (call) => staticFile(call, parts)),
      bind(dashboard.consoleScript, (call) => staticFile(call, parts)),
      bind(dashboard.consoleLogo, (call) => staticFile(call, parts)),
      bind(dashboard.consoleFile, (call) => consoleFile(call)),
    ],
    jobs: [
      // Twice a minute, so that no minute is missed when a run is late.
      { name: 'record-activity', everySeconds: 30, run: () => recordActivity(parts) },
    ],
    close: () => Promise.resolve(),
  }
}
