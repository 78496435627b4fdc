import { dashboard } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { DashboardParts } from './parts.ts'
import { home } from './home.ts'
import { operator } from './operator.ts'
import { page } from './page.ts'
import { staticFile } from './static.ts'
import { view } from './view.ts'

export function dashboardRoutes(parts: DashboardParts): readonly Binding<unknown>[] {
  return [
    bind(dashboard.home, (call) => home(call, parts)),
    bind(dashboard.page, (call) => page(call, parts)),
    bind(dashboard.view, (call) => view(call, parts)),
    bind(dashboard.operator, (call) => operator(call, parts)),
    bind(dashboard.faviconIco, (call) => staticFile(call, parts)),
    bind(dashboard.faviconSvg, (call) => staticFile(call, parts)),
    bind(dashboard.consoleStyles, (call) => staticFile(call, parts)),
    bind(dashboard.consoleScript, (call) => staticFile(call, parts)),
    bind(dashboard.consoleLogo, (call) => staticFile(call, parts)),
  ]
}
