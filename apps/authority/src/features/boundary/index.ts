import { boundary } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { decide } from './decide.ts'
import { evaluate } from './evaluate.ts'
import type { BoundaryParts } from './parts.ts'
import { request } from './request.ts'
import { verify } from './verify.ts'

export function openBoundary(parts: BoundaryParts): Feature {
  return {
    routes: [
      bind(boundary.evaluate, (call) => evaluate(call, parts)),
      bind(boundary.request, (call) => request(call, parts)),
      bind(boundary.decide, (call) => decide(call, parts)),
      bind(boundary.verify, (call) => verify(call, parts)),
    ],
    jobs: [],
    close: () => Promise.resolve(),
  }
}
