"""The greedy engine: exact, deterministic, one for every greedy design."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from meshwright.errors import InputError, first_five
from meshwright.greedy.candidates import Candidates, everything
from meshwright.overlay import Overlay

if TYPE_CHECKING:
    from collections.abc import Iterable
    from meshwright.greedy.rules import Rule
    from meshwright.interest import Interest

Progress: TypeAlias = Callable[[int, float, str], None]
"""Called now and then with the edges so far, the support so far (0 to 1) and what is being done."""

NO_LIMIT = np.iinfo(np.int32).max


def grow(interest, rule, *, start=None, candidates=everything, topics=None, max_edges=None, max_degree=None, threads=1, progress=None, mode=None, window=32, heavy=None, large=None,giant=8,bitcheck=True, stats=None):
    from meshwright.greedy import kernels as K
    import time
    t0=time.perf_counter()
    if topics is not None:
        original=interest; interest = interest.restrict(np.asarray(topics))
    V=interest.num_nodes; T=interest.num_topics; n=interest.num_subscriptions
    W=((V+511)//512)*8 or 8
    from scipy.sparse import csr_array
    csc=csr_array((np.arange(n,dtype=np.int32), interest.node_topics, interest.node_ptr.astype(np.int32)), shape=(V,T)).tocsc()
    entry=csc.data; topic_ptr=csc.indptr.astype(np.int64); topic_nodes=csc.indices.astype(np.int32)
    label=np.arange(n,dtype=np.int32); node_label=np.empty(n,np.int32); node_label[entry]=label
    pop=np.diff(topic_ptr)
    sizes=np.diff(interest.node_ptr)
    pairs=int((pop*(pop-1)//2).sum())
    if mode is None:
        mode='windows'
    if candidates.pairs is not None: mode='windows'
    dense=mode=='dense'
    large = large or max(32, V//256)
    heavyt = heavy if heavy is not None else max(2, V/400)
    is_heavy=(pop>=heavyt)&(pop>=2)
    if dense or candidates.pairs is not None: is_heavy[:]=False
    nh=int(is_heavy.sum())
    topic_row=np.full(T,-1,np.int32); topic_row[is_heavy]=np.arange(1,nh+1)
    pool=int((pop[is_heavy]//large).sum()); pool=min(pool, 4*nh+16)
    bits=np.zeros((1+nh+pool,W),np.uint64)
    free_rows=np.arange(nh+pool,nh,-1).astype(np.int32)
    allowed=np.zeros(W*64,bool)
    if candidates.nodes is None: allowed[:V]=True
    else: allowed[candidates.nodes]=True
    pack=lambda b: np.packbits(b.reshape(-1,8),axis=1,bitorder='little').reshape(-1).view(np.uint64).copy()
    ex=candidates.excluded if candidates.excluded is not None else np.zeros((0,2),np.int32)
    barred_ptr=np.searchsorted(ex[:,0],np.arange(V+1)).astype(np.int64)
    cap=NO_LIMIT if max_degree is None else max_degree
    tally=np.zeros(5,np.int64); tally[K.FREE_ROWS]=pool
    degree=np.zeros(V,np.int32)
    TW=(T+63)//64
    ib=np.zeros((V,TW) if not dense and bitcheck and TW*V*26<=max(16*n, 2**26) else (0,0),np.uint64)
    st=K.State(interest.node_ptr, interest.node_topics, topic_ptr, topic_nodes, node_label,label,entry,np.arange(n,dtype=np.int32),np.ones(n,np.int32),pop.astype(np.int32),np.full(T,-1,np.int32),np.zeros((ib.shape[0],3*ib.shape[1]),np.uint64),np.zeros(ib.shape,np.uint16),giant,
      bits,topic_row,np.full(n,-1,np.int32),free_rows,large,degree,cap,pack(allowed),barred_ptr,np.ascontiguousarray(ex[:,1]),tally)
    maxsize=int(sizes.max(initial=0))
    def scratch():
        return K.Scratch(np.zeros((max(4,maxsize.bit_length()),W),np.uint64),np.zeros(W,np.uint64),np.zeros(W,np.uint64),np.zeros(W,np.uint64),np.zeros(W,np.uint64),np.zeros(maxsize+8,np.uint32))
    sc=scratch()
    K.fill_node_bits(st)
    if start is not None:
        K.link_all(st._replace(topic_row=np.full(T,-1,np.int32)),start.u,start.v)
        tally[K.TOP_DEGREE]=degree.max(initial=0)
    merged0=int(tally[K.MERGES])
    K.fill_bits(st)
    def sweep(active):
        nV=V if active else 0
        if candidates.pairs is not None:
            pr=candidates.pairs
            ptr=np.searchsorted(pr[:,0],np.arange(V+1)).astype(np.int64)
            cnt=np.minimum(sizes[pr[:,0]],sizes[pr[:,1]]).astype(np.int32)
            bound=np.zeros(V,np.int32); np.maximum.at(bound,pr[:,0],cnt)
            return K.Sweep(bound,np.zeros(V,np.int32),np.zeros(V,np.int32),ptr,np.diff(ptr).astype(np.int32),np.ascontiguousarray(pr[:,1]),cnt,pack(allowed),np.array([maxsize,0,-1,0]),True)
        w=0 if dense else window
        bound=sizes[:nV].astype(np.int32)
        return K.Sweep(bound,bound+1,np.zeros(nV,np.int32),np.arange(nV+1,dtype=np.int64)*w,np.zeros(nV,np.int32),np.empty(nV*w,np.int32),np.empty(nV*w,np.int32),pack(allowed),np.array([maxsize,0,-1,0]),False)
    k = 0.0 if rule.k is None else rule.k
    whole=sweep(True); calm=sweep(k!=0)
    for v in range(V) if max_degree is not None else ():
        K.close_full(st,whole,v,cap)
    if k!=0: K.begin_phase(st,whole,calm,maxsize)
    us=np.empty(1024,np.int32); vs=us.copy(); gs=us.copy()
    limit=NO_LIMIT if max_edges is None else max_edges
    t1=time.perf_counter()
    while True:
        status=K.run(st,whole,calm,sc,k,limit,tally[K.WORK]+2**40,False,us,vs,gs)
        if status==K.FULL:
            us,vs,gs=(np.resize(a,2*len(a)) for a in (us,vs,gs)); continue
        if status==K.EXHAUSTED: break
    t2=time.perf_counter()
    if stats is not None: stats.update(setup=t1-t0, run=t2-t1, work=int(tally[K.WORK]),mode=mode,pairs=pairs)
    m=int(tally[K.EDGES]); us,vs,gs=us[:m].copy(),vs[:m].copy(),gs[:m].copy()
    if topics is not None: interest=original
    if start is not None:
        us,vs,gs=np.concatenate((start.u,us)),np.concatenate((start.v,vs)),np.concatenate((start.contribution,gs))
    return Overlay(interest,us,vs,gs)
