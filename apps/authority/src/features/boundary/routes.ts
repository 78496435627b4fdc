import { boundary } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { decide } from './decide.ts'
import { evaluate } from './evaluate.ts'
import { verify } from './verify.ts'

export const boundaryRoutes: readonly Binding<Office>[] = [
  bind(boundary.evaluate, evaluate),
  bind(boundary.decide, decide),
  bind(boundary.verify, verify),
]
