import { dashboard } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { home } from './home.ts'
import { operator } from './operator.ts'
import { page } from './page.ts'
import { staticFile } from './static.ts'
import { view } from './view.ts'

export const dashboardRoutes: readonly Binding<Office>[] = [
  bind(dashboard.home, home),
  bind(dashboard.page, page),
  bind(dashboard.view, view),
  bind(dashboard.operator, operator),
  bind(dashboard.faviconIco, staticFile),
  bind(dashboard.faviconSvg, staticFile),
  bind(dashboard.consoleStyles, staticFile),
  bind(dashboard.consoleScript, staticFile),
  bind(dashboard.consoleLogo, staticFile),
]
