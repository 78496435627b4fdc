import { boundary } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { BoundaryParts } from './parts.ts'
import { decide } from './decide.ts'
import { evaluate } from './evaluate.ts'
import { verify } from './verify.ts'

export function boundaryRoutes(parts: BoundaryParts): readonly Binding<unknown>[] {
  return [
    bind(boundary.evaluate, (call) => evaluate(call, parts)),
    bind(boundary.decide, (call) => decide(call, parts)),
    bind(boundary.verify, (call) => verify(call, parts)),
  ]
}
